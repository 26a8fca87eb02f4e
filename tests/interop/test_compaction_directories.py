"""Compacted topics handed to and fro between stepdown and Kafka 3.9.1: each goes on cleaning what the other left."""

import shutil
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import confluent_kafka
import pytest
from stepdown.protocol.records.batches import iter_batches
from stepdown.storage.files.checkpoint_file import FIRST_DELETIONS
from support.broker import Stepdown
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka, take_over

pytestmark = pytest.mark.java

TOPIC, OFFSETS, GROUPS = "c", "__consumer_offsets", ("g1", "g2", "g3")
CODECS = ("none", "gzip", "lz4", "zstd")
KEYS, UPDATES, COMMITS = 50, 1500, 60
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "16384",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "100",
}
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "2000",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
}
Broker = ApacheKafka | Stepdown


class Model:
    """What has been written, as a table; None is a key that was taken away."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.values: dict[bytes, bytes | None] = {}
        self.offsets: dict[str, int] = {}

    def write(self, broker: Broker) -> None:
        """Updates of all keys in all codecs, and committed offsets."""
        for codec in CODECS:
            producer = open_producer(broker, codec)
            for _ in range(UPDATES // len(CODECS)):
                key = b"key %d" % self.random.randrange(KEYS)
                value = None if self.random.random() < 0.1 else self.random.randbytes(self.random.randint(0, 200))
                producer.produce(TOPIC, value, key=key, partition=0, on_delivery=refuse_errors)
                self.values[key] = value
            assert producer.flush(DEADLINE_S) == 0
        for group in GROUPS:
            member = open_consumer(broker, group)
            for _ in range(COMMITS):
                self.offsets[group] = self.random.randrange(1000)
                commit(member, self.offsets[group])
            member.close()

    def check(self, broker: Broker) -> None:
        """A reader from the beginning ends with this table, and groups stand where they committed."""
        table: dict[bytes, bytes | None] = dict.fromkeys(self.values)
        consumer = open_consumer(broker, "none")
        consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
        while (message := consumer.poll(DEADLINE_S)) is not None and message.error() is None:
            table[message.key()] = message.value()
        assert message is not None
        assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
        consumer.close()
        assert table == self.values
        for group, offset in self.offsets.items():
            member = open_consumer(broker, group)
            assert member.committed([confluent_kafka.TopicPartition(TOPIC, 0)], DEADLINE_S)[0].offset == offset
            member.close()


def refuse_errors(error: confluent_kafka.KafkaError | None, _: object) -> None:
    """Raised out of `flush`."""
    assert error is None, error


def open_producer(broker: Broker, codec: str) -> confluent_kafka.Producer:
    """An idempotent one, of small batches."""
    settings = {"compression.type": codec, "enable.idempotence": True, "batch.num.messages": 50, "log_level": 0}
    return confluent_kafka.Producer(settings | {"bootstrap.servers": broker.address})


def open_consumer(broker: Broker, group: str) -> confluent_kafka.Consumer:
    settings = {"group.id": group, "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0}
    return confluent_kafka.Consumer(settings | {"bootstrap.servers": broker.address})


def commit(member: confluent_kafka.Consumer, offset: int) -> None:
    member.commit(offsets=[confluent_kafka.TopicPartition(TOPIC, 0, offset)], asynchronous=False)


def is_clean(log_dir: Path, topic: str) -> bool:
    """Whether no key stands twice in the closed segments; False while segments are put in place of others."""
    with suppress(FileNotFoundError):
        keys: Counter[bytes] = Counter()
        for segment in sorted((log_dir / f"{topic}-0").glob("*.log"))[:-1]:
            for batch in iter_batches(memoryview(segment.read_bytes())):
                keys.update(bytes(record.key or b"") for record in batch.records())
        return bool(keys) and keys.most_common(1)[0][1] == 1
    return False


def hand_over(source: Path, target: Broker) -> None:
    """Topic configs stay with the cluster, not with the log directory; Kafka here had them from the start."""
    if isinstance(target, ApacheKafka):
        take_over(target, source, [f"{OFFSETS}-0", f"{TOPIC}-0"])
        for name in ("cleaner-offset-checkpoint", "recovery-point-offset-checkpoint"):
            shutil.copy(source / name, target.log_dir / name)
    else:
        shutil.rmtree(target.log_dir, ignore_errors=True)
        shutil.copytree(source, target.log_dir)
        adopt_at_rest(target)


def adopt_at_rest(target: Broker) -> None:
    """Say the configs while no broker runs, and that the minute's notice before the first cleaning is over."""
    properties = target.folder / "adopting.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in PROPERTIES.items()))
    configs = [word for key, value in CONFIGS.items() for word in ("-o", f"{key}={value}")]
    done = run_command("topics", "adopt", TOPIC, *configs, "--log-dir", target.log_dir, "--config", properties)
    assert done.exit_code == 0, done.stderr
    (target.log_dir / FIRST_DELETIONS).unlink(missing_ok=True)


def pass_on(model: Model, brokers: list[Broker]) -> None:
    """Each but the first takes over from the one before it, reads, writes and cleans."""
    for source, target in pairwise([None, *brokers]):
        if source is not None:
            hand_over(source.log_dir, target)
        with target:
            if source is None:
                target.create_topic(TOPIC, configs=CONFIGS)
            else:
                model.check(target)
            model.write(target)
            for topic in (TOPIC, OFFSETS):
                wait_until(partial(is_clean, target.log_dir, topic), f"{topic} is clean", timeout_s=DEADLINE_S)
            model.check(target)


def kafka(folder: Path) -> ApacheKafka:
    return ApacheKafka(folder / "kafka", properties=PROPERTIES)


def here(folder: Path) -> Stepdown:
    return Stepdown(folder / "here", properties=PROPERTIES)


def test_compacted_topics_go_from_kafka_to_us_and_back(tmp_path: Path) -> None:
    theirs = kafka(tmp_path)
    pass_on(Model(1), [theirs, here(tmp_path), theirs])


def test_compacted_topics_go_from_us_to_kafka_and_back(tmp_path: Path) -> None:
    ours, theirs = here(tmp_path), kafka(tmp_path)
    with theirs:
        theirs.create_topic(TOPIC, configs=CONFIGS)
        commit(open_consumer(theirs, "makes-the-topic"), 0)
        # Its next producer ids come after these: it knows nothing of those that were given out elsewhere.
        takes_ids = open_producer(theirs, "none")
        takes_ids.produce(TOPIC, b"v", key=b"k", partition=0)
        assert takes_ids.flush(DEADLINE_S) == 0
    pass_on(Model(2), [ours, theirs, ours])
