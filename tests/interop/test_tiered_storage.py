"""What Kafka 3.9.1 has put into its LocalTieredStorage, joined with what it kept: the rows that its consumers read."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.arrow_columns import ArrowBatchMaker
from stepdown.pipeline.reading.partition_segments import PartitionSegments
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.pipeline.reading.transactions import log_transactions
from stepdown.protocol.records.columns import WantedRows
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka
from support.kafka_tiered import (
    CODECS,
    Row,
    await_upload,
    consumed,
    leave_open,
    local_tiered_settings,
    tiered_properties,
    tiered_topic,
)
from support.s3 import s3_server

pytestmark = pytest.mark.java

TOPIC = tiered_topic(20_000)


class Written:
    """A stopped Kafka: its directories, and what a consumer had read of each topic before."""

    def __init__(
        self, log_dir: Path, tiered: Path, read: dict[str, list[Row]], committed: dict[str, list[Row]]
    ) -> None:
        self.log_dir = log_dir
        self.tiered = tiered
        self.read = read
        self.committed = committed


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    folder = tmp_path_factory.mktemp("tiered")
    tiered = folder / "remote" / "kafka-tiered-storage"
    properties = tiered_properties(local_tiered_settings(tiered))
    with ApacheKafka(folder / "kafka", properties=properties) as kafka:
        for topic in ("again", *CODECS):
            kafka.create_topic(topic, configs=TOPIC)
        produce(kafka.address, "again", "none", b"of the first topic of this name")
        admin = AdminClient({"bootstrap.servers": kafka.address})
        admin.delete_topics(["again"])["again"].result(DEADLINE_S)
        kafka.create_topic("again", configs=TOPIC)
        for topic in CODECS:
            produce(kafka.address, topic, topic, b"value")
        produce(kafka.address, "again", "lz4", b"of the second")
        for topic in ("again", *CODECS):
            await_upload(kafka.log_dir / f"{topic}-0", tiered)
        for topic in ("again", "lz4"):
            leave_open(kafka.address, topic)
        levels = "read_uncommitted", "read_committed"
        read, committed = (
            {topic: list(consumed(kafka.address, topic, level)) for topic in ("again", *CODECS)} for level in levels
        )
    yield Written(folder / "kafka" / "data", tiered, read, committed)


def produce(address: str, topic: str, codec: str, value: bytes) -> None:
    """A few hundred records in transactions, each third of which is aborted, and some beside them."""
    common = {"bootstrap.servers": address, "compression.type": codec, "linger.ms": 5, "batch.size": 8000}
    producer = Producer(common | {"transactional.id": f"{topic}-{value.decode()}"})
    producer.init_transactions(DEADLINE_S)
    for number in range(9):
        producer.begin_transaction()
        for at in range(40):
            key = None if at % 7 == 0 else b"%d" % at
            text = b"%d %d " % (number, at) + value * (1 + (number * at) % 97)
            producer.produce(topic, text, key, partition=0, timestamp=1_700_000_000_000 + number * 1000 + at)
        producer.flush(DEADLINE_S)
        (producer.abort_transaction if number % 3 == 2 else producer.commit_transaction)(30)
    plain = Producer(common)
    for number in range(200):
        plain.produce(topic, value * (number % 31), b"plain %d" % number, partition=0)
    assert plain.flush(DEADLINE_S) == 0


def stored(files: PlaceFiles, log: PartitionSegments, wanted_range: OffsetsToRead | None = None) -> list[Row]:
    """All rows of a log, or those of a range, by split."""
    arrow = ArrowBatchMaker(("offset", "timestamp", "key", "value"), log.topic, log.partition)
    found: list[Row] = []
    for split in SplitPlanner(files, 50_000).plan_splits(log, wanted_range or OffsetsToRead()):
        wanted = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset)
        for columns in SplitRows(files, split, wanted, DamagePolicy()):
            batch = arrow.make_record_batch(columns)
            times_ms = [time_us // 1000 for time_us in batch.column(1).cast("int64").to_pylist()]
            offsets, keys, values = (batch.column(at).to_pylist() for at in (0, 2, 3))
            found += list(zip(offsets, times_ms, keys, values, strict=True))
    return found


def test_rows_are_those_that_a_consumer_read(written: Written) -> None:
    files = PlaceFiles()
    logs = find_partition_logs(files, str(written.log_dir), tiered_path=str(written.tiered))
    assert {log.topic for log in logs} == set(written.read)
    for log in logs:
        assert len(log.segments) > 1, log.topic
        assert stored(files, log) == written.read[log.topic], log.topic
        assert not log.notes


def stored_committed(files: PlaceFiles, log: PartitionSegments) -> list[Row]:
    found = log_transactions(files, log)
    return stored(files, log, OffsetsToRead(end=found.last_stable_offset, aborted=found.aborted))


def test_read_committed_rows_are_those_of_such_a_consumer(written: Written) -> None:
    files = PlaceFiles()
    assert len(written.committed["again"]) < len(written.read["again"]) - 2
    for log in find_partition_logs(files, str(written.log_dir), tiered_path=str(written.tiered)):
        assert stored_committed(files, log) == written.committed[log.topic], log.topic


def test_they_are_the_same_where_only_the_logs_were_copied(written: Written, tmp_path: Path) -> None:
    """Markers tell what no index and no snapshot is there to tell."""
    files = PlaceFiles()
    log_dir = tmp_path / "copy"
    shutil.copytree(written.log_dir, log_dir, ignore=shutil.ignore_patterns("*.*index", "*.index", "*.snapshot"))
    tiered = tmp_path / "tiered"
    shutil.copytree(written.tiered, tiered, ignore=shutil.ignore_patterns("*.*index", "*.index", "*.snapshot"))
    for log in find_partition_logs(files, str(log_dir), tiered_path=str(tiered)):
        assert stored_committed(files, log) == written.committed[log.topic], log.topic


def test_so_are_those_from_an_object_store_that_fails_now_and_then(written: Written) -> None:
    with s3_server(failing=0.01, latency_s=0.05) as server:
        files = PlaceFiles(server.options)
        local, tiered = server.upload(written.log_dir, "local"), server.upload(written.tiered, "tiered")
        for log in find_partition_logs(files, local, CODECS, tiered_path=tiered):
            assert stored(files, log) == written.read[log.topic], log.topic


def test_tiered_storage_alone_has_all_but_the_newest_segment(written: Written) -> None:
    files = PlaceFiles()
    for log in find_partition_logs(files, str(written.tiered), CODECS):
        newest = int(next((written.log_dir / f"{log.topic}-0").glob("*.log")).stem)
        assert stored(files, log) == [row for row in written.read[log.topic] if row[0] < newest]
