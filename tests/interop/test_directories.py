"""Kafka 3.9.1 and stepdown open each other's log directories, after a clean stop and after a kill."""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.broker import BrokerProcess, broker_under_test
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.kafka import ApacheKafka, dump_log_segments, take_over
from support.samples import first_difference, many, samples

pytestmark = pytest.mark.java

CODECS = JAVA_3_9.codecs
RECORDS = "records"
SEGMENTS = "segments"
APPEND_TIME = "append-time"
TOPICS: dict[str, dict[str, str]] = {
    RECORDS: {},
    SEGMENTS: {"segment.bytes": "50000", "index.interval.bytes": "4096"},
    APPEND_TIME: {"message.timestamp.type": "LogAppendTime"},
}
PARTITIONS = {RECORDS: len(CODECS)}
NAMES = [f"{topic}-{partition}" for topic in TOPICS for partition in range(PARTITIONS.get(topic, 1))]
MANY = many(400, 1000)


def create(broker: BrokerProcess) -> None:
    for topic, configs in TOPICS.items():
        broker.create_topic(topic, partitions=PARTITIONS.get(topic, 1), configs=configs)


def write(broker: BrokerProcess, **settings: str) -> None:
    """Append the same records once more to every partition."""

    def append(topic: str, partition: int, messages: Sequence[Message], codec: str) -> None:
        JAVA_3_9.produce(broker.address, "writer", topic, partition, messages, codec, **settings)

    for partition, codec in enumerate(CODECS):
        append(RECORDS, partition, samples(2), codec)
    append(SEGMENTS, 0, MANY, "none")
    append(APPEND_TIME, 0, MANY[:20], "none")


def read_back(broker: BrokerProcess, times: int) -> None:
    """Read what `write` wrote so many times, in order and without a gap."""
    check(broker, RECORDS, samples(2) * times)
    check(broker, SEGMENTS, MANY * times)
    received = consume(broker, APPEND_TIME, 20 * times)
    assert [message.value for message in received] == [message.value for message in MANY[:20] * times]


def check(broker: BrokerProcess, topic: str, wanted: Sequence[Message]) -> None:
    for partition in range(PARTITIONS.get(topic, 1)):
        assert first_difference(wanted, consume(broker, topic, len(wanted), partition)) is None, (topic, partition)


def consume(broker: BrokerProcess, topic: str, count: int, partition: int = 0) -> list[Message]:
    received = JAVA_3_9.consume(broker.address, "reader", [Span(topic=topic, partition=partition, count=count)])
    assert [record.offset for record in received] == list(range(count))
    return [record.message for record in received]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A stopped broker's folder, written once."""

    folder: Path

    def copy(self, folder: Path) -> Path:
        return shutil.copytree(self.folder, folder, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """What the broker under test wrote and closed."""
    folder = tmp_path_factory.mktemp("ours")
    broker = broker_under_test(folder)
    broker.start()
    create(broker)
    write(broker)
    broker.stop()
    return Origin(folder=folder)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """What Kafka wrote and closed."""
    folder = tmp_path_factory.mktemp("theirs")
    with ApacheKafka(folder) as kafka:
        create(kafka)
        write(kafka)
    return Origin(folder=folder)


@pytest.fixture(scope="module")
def empty_kafka(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """A Kafka that has the topics, with nothing in them."""
    folder = tmp_path_factory.mktemp("empty-kafka")
    with ApacheKafka(folder) as kafka:
        create(kafka)
    return Origin(folder=folder)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[Origin], BrokerProcess]]:
    """Return `started(origin)`: the broker under test over a copy of a directory."""
    running: list[BrokerProcess] = []

    def start(origin: Origin) -> BrokerProcess:
        broker = broker_under_test(origin.copy(tmp_path / "broker"))
        running.append(broker)
        broker.start()
        return broker

    yield start
    for broker in running:
        broker.stop()


def test_a_directory_of_kafka_opens_and_takes_more(theirs: Origin, started: Callable[[Origin], BrokerProcess]) -> None:
    broker = started(theirs)
    read_back(broker, 1)
    write(broker)
    read_back(broker, 2)


def test_a_directory_of_a_killed_kafka_opens(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path)
    kafka.start()
    create(kafka)
    write(kafka)
    kafka.kill()
    broker = broker_under_test(tmp_path)
    broker.start()
    read_back(broker, 1)
    broker.stop()


def test_topic_ids_of_kafka_are_kept(theirs: Origin, started: Callable[[Origin], BrokerProcess]) -> None:
    broker = started(theirs)
    write(broker)
    for name in NAMES:
        before = (theirs.folder / "data" / name / "partition.metadata").read_bytes()
        assert (broker.log_dir / name / "partition.metadata").read_bytes() == before


@pytest.mark.parametrize("cleanly", [True, False], ids=["after a clean stop", "with recovery of every segment"])
def test_kafka_opens_our_directory_and_goes_on(
    ours: Origin, empty_kafka: Origin, tmp_path: Path, cleanly: bool
) -> None:
    kafka = ApacheKafka(empty_kafka.copy(tmp_path))
    take_over(kafka, ours.folder / "data", NAMES, cleanly=cleanly)
    with kafka:
        read_back(kafka, 1)
        # This Kafka hands out producer ids from 0 again, which would be taken for those in the foreign files.
        write(kafka, enable_idempotence="false")
        read_back(kafka, 2)


def test_kafka_recovers_the_same_indexes_that_we_wrote(ours: Origin, empty_kafka: Origin, tmp_path: Path) -> None:
    kafka = ApacheKafka(empty_kafka.copy(tmp_path))
    take_over(kafka, ours.folder / "data", NAMES, cleanly=False)
    for index in kafka.log_dir.glob("*-?/*index"):
        index.unlink()
    with kafka:
        pass

    compared = 0
    for name in NAMES:
        for index in sorted((ours.folder / "data" / name).glob("*index")):
            assert (kafka.log_dir / name / index.name).read_bytes() == index.read_bytes(), f"{name}/{index.name}"
            compared += index.stat().st_size > 0
    assert compared > 10


def test_a_directory_may_go_to_and_fro(theirs: Origin, tmp_path: Path) -> None:
    """Kafka goes on with the metadata that stepdown wrote, which lie in the log directory."""
    folder = theirs.copy(tmp_path)
    metadata = {"metadata.log.dir": str(folder / "data")}
    for times in (2, 3):
        broker = broker_under_test(folder) if times == 2 else ApacheKafka(folder, properties=metadata)
        broker.start()
        write(broker)
        read_back(broker, times)
        broker.stop()


def test_dump_log_segments_finds_our_batches_valid(ours: Origin) -> None:
    shown = dump_log_segments(files(ours, "*.log"), "--deep-iteration")

    validity = re.findall(r"isvalid: (\w+)", shown)
    assert len(validity) > 50 and set(validity) == {"true"}
    assert shown.count("| offset: ") == len(CODECS) * len(samples(2)) + len(MANY) + 20
    assert {f"compresscodec: {codec}" for codec in CODECS} <= set(re.findall(r"compresscodec: \w+", shown))


def test_dump_log_segments_finds_our_indexes_sane(ours: Origin) -> None:
    indexes = files(ours, "*index")

    sanity = dump_log_segments(indexes, "--index-sanity-check")
    verified = dump_log_segments(indexes, "--verify-index-only")

    assert sanity.count("passed sanity check.") + sanity.count("is empty.") == len(indexes)
    for complaint in ("Mismatches in", "Indexed offset", "Index timestamp", "Found timestamp mismatch", "out of order"):
        assert complaint not in sanity + verified, sanity + verified


def test_dump_log_segments_reads_our_producer_snapshots(ours: Origin) -> None:
    shown = dump_log_segments(files(ours, "*.snapshot"))

    assert "producerId: " in shown
    assert "lastSequence" in shown


def files(origin: Origin, pattern: str) -> list[Path]:
    found = sorted(path for name in NAMES for path in (origin.folder / "data" / name).glob(pattern))
    assert found, pattern
    return found
