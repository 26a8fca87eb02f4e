"""`__transaction_state` handed to and fro between stepdown and Apache Kafka 3.9.1, whatever its transactions were at.

Complete ones stay; what was decided is finished; what is open can be aborted by its next producer, or by its time.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import confluent_kafka
import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.broker.transactions.transaction_status import TransactionStatus
from stepdown.protocol.messages.list_transactions import ListTransactionsRequest
from support.broker import Stepdown
from support.clients_raw import wait_until
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka, take_over
from support.transaction_state import TOPIC as TRANSACTIONS
from support.transaction_state import amend, known_transactions, states

pytestmark = pytest.mark.java

TOPIC = "t"
PROPERTIES = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.segment.bytes": "1500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "log.cleaner.backoff.ms": "100",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
}
STATES = {
    "complete-abort": TransactionStatus.COMPLETE_ABORT,
    "complete-commit": TransactionStatus.COMPLETE_COMMIT,
    "decided-abort": TransactionStatus.PREPARE_ABORT,
    "decided-commit": TransactionStatus.PREPARE_COMMIT,
    "open": TransactionStatus.ONGOING,
    "overdue": TransactionStatus.ONGOING,
}
COUNT = {"complete-commit", "decided-commit"}
Broker = ApacheKafka | Stepdown


@dataclass(slots=True)
class Story:
    """What was written by all brokers so far: values in the order of the log, and those that count."""

    written: list[bytes] = field(default_factory=list)
    committed: list[bytes] = field(default_factory=list)
    epochs: dict[str, tuple[int, int]] = field(default_factory=dict)
    leftover: list[confluent_kafka.Producer] = field(default_factory=list)

    def leave(self, broker: Broker, turn: int) -> None:
        """Every transactional id comes to a different end, or to none."""
        for name in STATES:
            producer = new_producer(broker, name)
            for action in ("commit", "leave"):
                producer.begin_transaction()
                values = [b"%d %s %s %d" % (turn, name.encode(), action.encode(), number) for number in range(3)]
                for value in values:
                    producer.produce(TOPIC, value, key=b"k", partition=0)
                producer.flush(DEADLINE_S)
                self.written += values
                if action == "commit" or name in COUNT:
                    self.committed += values
                if action == "commit" or name == "complete-commit":
                    producer.commit_transaction(DEADLINE_S)
                elif name == "complete-abort":
                    producer.abort_transaction(DEADLINE_S)
            self.leftover.append(producer)

    def die(self, log_dir: Path) -> None:
        """Of a stopped broker: two decisions are on disk without a marker, and the time of one transaction is over."""
        self.leftover.clear()
        amend(log_dir, "decided-commit", TransactionStatus.PREPARE_COMMIT)
        amend(log_dir, "decided-abort", TransactionStatus.PREPARE_ABORT)
        amend(log_dir, "overdue", TransactionStatus.ONGOING, timeout_ms=1)
        assert states(log_dir) == STATES
        self.check_epochs(log_dir)

    def check_epochs(self, log_dir: Path) -> None:
        """Every id still has its producer id, with an epoch above the last that was seen."""
        epochs = {
            name: (value.producer_id, value.producer_epoch) for name, value in known_transactions(log_dir).items()
        }
        assert epochs.keys() == STATES.keys()
        for name, (producer_id, epoch) in self.epochs.items():
            assert epochs[name][0] == producer_id, name
            assert epochs[name][1] > epoch, name
        self.epochs = epochs

    def go_on(self, broker: Broker) -> None:
        """What was decided is finished by itself, what is overdue is aborted, what is open waits for its producer."""
        wait_until(lambda: open_ids(broker) == {"open"}, "all but one transaction have ended")
        seen = read(broker, "read_committed")
        assert seen == self.committed[: len(seen)], "only what was committed, from the first on"
        assert seen != self.committed, "an open transaction holds the last stable offset"
        new_producer(broker, "open")
        assert not open_ids(broker)
        assert read(broker, "read_committed") == self.committed
        assert read(broker, "read_uncommitted") == self.written


def new_producer(broker: Broker, name: str) -> confluent_kafka.Producer:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.address, "transactional.id": name, "log_level": 0})
    producer.init_transactions(DEADLINE_S)
    return producer


def open_ids(broker: Broker) -> set[str]:
    """Transactional ids with a transaction that is on, or decided and not yet ended everywhere."""
    filters = [
        state.label
        for state in (TransactionStatus.ONGOING, TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT)
    ]
    with Connection(broker.address) as connection:
        answer = connection.call(ListTransactionsRequest(state_filters=filters), 0)
    return {"?"} if answer.error_code else {each.transactional_id for each in answer.transaction_states}


def read(broker: Broker, isolation: str) -> list[bytes]:
    """All that a consumer gets until it is told that there is no more."""
    settings = {"group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0}
    settings |= {"bootstrap.servers": broker.address, "isolation.level": isolation}
    consumer = confluent_kafka.Consumer(settings)
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    found = []
    while (message := consumer.poll(DEADLINE_S)) is not None and message.error() is None:
        found.append(message.value())
    assert message is not None
    assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
    consumer.close()
    return found


def hand_over(source: Path, target: ApacheKafka | Stepdown) -> None:
    """The stopped target gets what the stopped source left, and finds no mark of a clean stop."""
    if isinstance(target, ApacheKafka):
        take_over(target, source, [f"{TRANSACTIONS}-0", f"{TOPIC}-0"], cleanly=False)
    else:
        shutil.rmtree(target.log_dir, ignore_errors=True)
        shutil.copytree(source, target.log_dir)


def kafka_with_topics(folder: Path) -> ApacheKafka:
    """A stopped Kafka that has both topics, with nothing in them that counts."""
    kafka = ApacheKafka(folder, properties=PROPERTIES)
    with kafka:
        kafka.create_topic(TOPIC)
        new_producer(kafka, "makes-the-topic")
    return kafka


def test_transactions_go_from_kafka_to_us_and_back(tmp_path: Path) -> None:
    kafka, ours, story = ApacheKafka(tmp_path / "kafka", properties=PROPERTIES), here(tmp_path), Story()
    with kafka:
        kafka.create_topic(TOPIC)
        story.leave(kafka, 1)
    pass_on(story, [kafka, ours, kafka])


def test_transactions_go_from_us_to_kafka_and_back(tmp_path: Path) -> None:
    kafka, ours, story = kafka_with_topics(tmp_path / "kafka"), here(tmp_path), Story()
    with ours:
        ours.create_topic(TOPIC)
        story.leave(ours, 1)
    pass_on(story, [ours, kafka, ours])


def here(folder: Path) -> Stepdown:
    return Stepdown(folder / "here", properties=PROPERTIES)


def pass_on(story: Story, brokers: Sequence[Broker]) -> None:
    for turn, (source, target) in enumerate(pairwise(brokers), 2):
        story.die(source.log_dir)
        hand_over(source.log_dir, target)
        with target:
            story.go_on(target)
            story.leave(target, turn)
    story.check_epochs(brokers[-1].log_dir)
