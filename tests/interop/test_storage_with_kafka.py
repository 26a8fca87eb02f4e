"""Log directories handed to and fro: what Apache Kafka 3.9.1 wrote opens here, what is written here opens in Kafka.

Kafka's DumpLogSegments checks the indexes of both.
"""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.checkpoint_file import read_offsets
from stepdown.storage.files.files import Files
from stepdown.storage.log.log import Log
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.validation.prepared_append import AppendOrigin
from support.clients_raw import FetchAsk, Raw
from support.clock import ManualClock
from support.kafka import ApacheKafka, dump_log_segments
from support.kafka_corpus import copy_of_corpus
from support.logs import NOW, append, batch, prepared, read_all, values_of

pytestmark = pytest.mark.java

COMPLAINTS = ("mismatch", "Mismatch", "Found", "not sorted", "non-monotonic", "isvalid: false", "Could not", "corrupt")


def open_dirs(directory: Path, files: Files | None = None, **config: object) -> LogManager:
    return LogManager([str(directory)], files or Files(), ManualClock(NOW), LogConfig(**config))  # type: ignore[arg-type]


def fill(log: Log) -> None:
    """Everything a log may hold: all codecs and magics, sequences, transactions of both ends, gaps and new epochs."""
    for n in range(60):
        append(log, 20 + n, b"x" * n, codec=Codec(n % 5), timestamp=NOW + 1000 * n - 7 * (n % 3), leader_epoch=n // 25)
    for sequence in range(20):
        append(log, 30, leader_epoch=3, producer_id=7, producer_epoch=1, base_sequence=sequence)
    for producer_id, kind in ((8, ControlType.ABORT), (9, ControlType.COMMIT)):
        append(
            log, b"in", b"doubt", leader_epoch=3,
            producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True,
        )  # fmt: skip
        marker = build_control_marker(
            kind, offset=0, producer_id=producer_id, producer_epoch=0, coordinator_epoch=2,
            timestamp=NOW, partition_leader_epoch=0,
        )  # fmt: skip
        log.append(prepared(marker, origin=AppendOrigin.COORDINATOR), leader_epoch=3)
    log.append_as_follower(batch(b"after a gap", first_offset=log.log_end_offset + 5, partition_leader_epoch=4))


def add_old_magics(log: Log) -> None:
    for n in range(40):
        magic = n % 2
        log.append_as_follower(
            batch(
                b"old", 10 * n, first_offset=log.log_end_offset, magic=magic, codec=Codec(n // 2 % 4), timestamp=NOW + n
            )
        )


def assert_kafka_finds_no_fault(directory: Path) -> None:
    logs = sorted(directory.glob("*/*.log"))
    indexes = [file for end in ("index", "timeindex") for file in sorted(directory.glob(f"*/*.{end}"))]
    others = [file for end in ("txnindex", "snapshot") for file in sorted(directory.glob(f"*/*.{end}"))]
    for files, options in (
        ([*logs, *others], ["--deep-iteration"]),
        (indexes, ["--index-sanity-check"]),
        (indexes, ["--verify-index-only"]),
        (indexes, []),
    ):
        told = dump_log_segments(files, *options)
        lines = [line for line in told.splitlines() if any(complaint in line for complaint in COMPLAINTS)]
        assert not [line for line in lines if not line.startswith("Dumping")], told[-2000:]
        if "--index-sanity-check" in options:
            assert told.count("passed sanity check") + told.count("is empty") == len(indexes), told[-2000:]


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_kafkas_dump_tool_finds_no_fault_in_what_is_written_here(tmp_path: Path, stop: str) -> None:
    small = {"segment_bytes": 3000, "index_interval_bytes": 300}
    dirs = open_dirs(tmp_path, **small)
    fill(dirs.create("new", 0, None))
    add_old_magics(dirs.create("old", 0, None))
    if stop == "clean":
        dirs.shutdown()
    else:
        dirs._release()
        open_dirs(tmp_path, **small).shutdown()
    assert len(list(tmp_path.glob("new-0/*.log"))) > 2
    assert_kafka_finds_no_fault(tmp_path)


@pytest.fixture(scope="module")
def kafka_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_corpus(tmp_path_factory.mktemp("kafka"))


@pytest.fixture
def data(kafka_folder: Path, tmp_path: Path) -> Iterator[Path]:
    """A log directory that Kafka 3.9.1 wrote and closed, with every codec, transactions, compaction, old magics."""
    yield shutil.copytree(kafka_folder / "data", tmp_path / "data")


def test_a_directory_of_kafka_opens_as_kafka_left_it(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    ends = read_offsets(Files(), str(data / "recovery-point-offset-checkpoint"))
    with caplog.at_level(logging.WARNING):
        dirs = open_dirs(data)
    assert not caplog.text
    assert {key: log.log_end_offset for key, log in dirs.logs.items()} == ends
    for (topic, _), log in dirs.logs.items():
        if topic != "corrupt":
            read = list(read_all(log))
            assert not read or read[-1].offset < log.log_end_offset
    dirs.shutdown()


def test_recovering_a_directory_of_kafka_keeps_all_of_it(data: Path) -> None:
    dirs = open_dirs(data)
    before = {key: values_of(read_all(log)) for key, log in dirs.logs.items() if key[0] != "corrupt"}
    ends = {key: log.log_end_offset for key, log in dirs.logs.items()}
    aborted = dirs.logs["transactions", 0]
    told = aborted.aborted_transactions(0, aborted.read(0, 1 << 30, below=aborted.log_end_offset))
    dirs._release()
    for name in ("recovery-point-offset-checkpoint", ".kafka_cleanshutdown"):
        (data / name).unlink(missing_ok=True)
    for file in [*data.glob("*/*index"), *data.glob("*/*.snapshot"), *data.glob("*/leader-epoch-checkpoint")]:
        file.unlink()
    dirs = open_dirs(data)
    assert {key: values_of(read_all(log)) for key, log in dirs.logs.items() if key in before} == before
    assert {key: log.log_end_offset for key, log in dirs.logs.items() if key in before} == {
        key: ends[key] for key in before
    }
    again = dirs.logs["transactions", 0]
    assert again.aborted_transactions(0, again.read(0, 1 << 30, below=again.log_end_offset)) == told
    dirs.shutdown()
    shutil.rmtree(data / "corrupt-0")
    assert_kafka_finds_no_fault(data)


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_kafka_serves_what_was_appended_here(tmp_path: Path, stop: str) -> None:
    kafka = ApacheKafka(tmp_path)
    with kafka:
        kafka.create_topic("orders", configs={"segment.bytes": "6000"})
        with Raw(kafka.address) as client:
            assert client.produce(3, "orders", batch(b"from Kafka"))[0] == 0
    dirs = open_dirs(kafka.log_dir, segment_bytes=6000, index_interval_bytes=300)
    log = dirs.logs["orders", 0]
    assert values_of(read_all(log)) == [b"from Kafka"]
    fill(log)
    end = log.log_end_offset
    wanted = log.read(0, 1 << 30, below=end)
    stored = wanted.read(0, wanted.size_bytes)
    in_time = log.offset_for_timestamp(NOW + 30_000)
    assert in_time is not None
    if stop == "clean":
        dirs.shutdown()
    else:
        dirs._release()
    with kafka, Raw(kafka.address) as client:
        assert client.end_offset("orders") == end
        assert client.end_offset("orders", timestamp=NOW + 30_000) == in_time.offset
        (answer,) = client.fetch(4, [FetchAsk(topic="orders")])
        assert answer.records == stored
        error, offset = client.produce(3, "orders", batch(b"and back"))
        assert (error, offset) == (0, end)
    log = open_dirs(kafka.log_dir).logs["orders", 0]
    assert values_of(read_all(log))[-1] == b"and back"
