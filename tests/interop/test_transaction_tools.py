"""kafka-transactions of 3.9.1 and of 4.4.0: it lists and describes, and ends a transaction that nobody else would."""

import re
from collections.abc import Iterator
from time import time

import confluent_kafka
import pytest
from stepdown.broker.transactions.transaction_status import TransactionStatus
from support.broker import Stepdown
from support.clients_raw import FetchAsk, Raw
from support.deadline import DEADLINE_S
from support.kafka_tools import RELEASES, KafkaTools
from support.transaction_state import amend

pytestmark = pytest.mark.java

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
LONG_AGO_MS = 3_600_000
PROPERTIES = {"transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    with Stepdown(tmp_path_factory.mktemp("tools"), properties=PROPERTIES) as running:
        yield running


@pytest.fixture(params=RELEASES)
def tools(request: pytest.FixtureRequest) -> KafkaTools:
    return KafkaTools(str(request.param))


def begin(broker: Stepdown, transactional_id: str, topic: str) -> confluent_kafka.Producer:
    """A producer that has written one record, an hour old, and committed nothing."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.address, "transactional.id": transactional_id, "log_level": 0}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0, timestamp=int(time()) * 1000 - LONG_AGO_MS)
    producer.flush(DEADLINE_S)
    return producer


def hang(broker: Stepdown, transactional_id: str, topic: str) -> None:
    """Leave a transaction in a log of which the coordinator says that it is over."""
    producer = begin(broker, transactional_id, topic)
    broker.stop()
    del producer
    amend(broker.log_dir, transactional_id, TransactionStatus.COMPLETE_ABORT)
    broker.start()


def last_stable_offset(broker: Stepdown, topic: str) -> int:
    with Raw(broker.address) as client:
        return client.fetch(4, [FetchAsk(topic=topic)])[0].last_stable_offset


def test_an_open_transaction_is_listed_and_described(broker: Stepdown, tools: KafkaTools) -> None:
    topic = f"open-{tools.release}"
    broker.create_topic(topic)
    producer = begin(broker, topic, topic)
    at = f"--bootstrap-server {broker.address}"
    assert re.search(rf"{topic}\s+1\s+\d+\s+Ongoing", tools.run(TRANSACTIONS, f"{at} list"))
    described = tools.run(TRANSACTIONS, f"{at} describe --transactional-id {topic}")
    assert re.search(rf"1\s+{topic}\s+\d+\s+0\s+Ongoing\s+60000\s.*{topic}-0", described), described
    producers = tools.run(TRANSACTIONS, f"{at} describe-producers --topic {topic} --partition 0")
    assert re.search(r"\n\d+\s+0\s+\S+\s+0\s+\d+\s+0\s", producers), producers
    producer.abort_transaction(DEADLINE_S)
    producers = tools.run(TRANSACTIONS, f"{at} describe-producers --topic {topic} --partition 0")
    assert re.search(r"\n\d+\s+0\s+\S+\s+0\s+\d+\s+None\s", producers), producers


def test_a_hanging_transaction_is_found_and_aborted(broker: Stepdown, tools: KafkaTools) -> None:
    topic = f"hanging-{tools.release}"
    broker.create_topic(topic)
    hang(broker, topic, topic)
    assert last_stable_offset(broker, topic) == 0
    at = f"--bootstrap-server {broker.address}"
    found = tools.run(TRANSACTIONS, f"{at} find-hanging --broker-id 1")
    assert re.search(rf"{topic}\s+0\s+\d+\s+0\s", found), found
    tools.run(TRANSACTIONS, f"{at} abort --topic {topic} --partition 0 --start-offset 0")
    assert last_stable_offset(broker, topic) == 2
    assert topic not in tools.run(TRANSACTIONS, f"{at} find-hanging --broker-id 1")
