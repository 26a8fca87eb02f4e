"""Logs of topics set to `preallocate`, which a running broker may append to and cut while they are listed."""

from pathlib import Path

import pytest
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.log_end import log_end_offset
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.pipeline.sources.kafka_batches import split_headers
from stepdown.storage.log.log import Log
from support.files import BusyFiles
from support.logs import append, make_log

SEGMENT_BYTES = 200_000
WRITTEN_BYTES = 10_000
VALUE = bytes(300)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """It has two segments; the second has zeros behind its last batch."""
    log = make_log(tmp_path / "orders-0", preallocate=True, segment_bytes=SEGMENT_BYTES, index_interval_bytes=2000)
    for _ in range(5):
        append(log, VALUE)
    log.roll()
    while log.segments.active.size <= WRITTEN_BYTES:
        append(log, VALUE)
    assert newest(log).stat().st_size == SEGMENT_BYTES
    return log


def newest(log: Log) -> Path:
    return Path(log.segments.active.file.path)


def sizes(log: Log) -> list[int]:
    (found,) = find_partition_logs(PlaceFiles(), str(Path(log.directory).parent))
    assert log_end_offset(PlaceFiles(), found) == log.log_end_offset
    return [segment.size_bytes for segment in found.segments]


@pytest.mark.parametrize("index", ["written", "lagging", "wrong"])
def test_preallocated_zeros_are_not_counted(log: Log, index: str) -> None:
    path = newest(log).with_suffix(".index")
    if index == "written":
        log.segments.active.offset_index.write_out()
        assert path.stat().st_size
    elif index == "wrong":
        path.write_bytes((1).to_bytes(4, "big") + (77).to_bytes(4, "big"))
    assert sizes(log) == [segment.size for segment in log.segments]


def test_a_file_without_zeros_counts_whole(log: Log) -> None:
    log.close()
    assert sizes(log) == [segment.size for segment in log.segments]


def test_a_torn_batch_does_not_count_as_zeros(log: Log) -> None:
    log.close()
    with newest(log).open("ab") as file:
        file.write(b"\0\0\0\0\0\0\0\7\0\0\1\0" + bytes(40))
    assert sizes(log)[-1] == log.segments.active.size + 52


def test_zeros_with_something_behind_them_are_damage(log: Log) -> None:
    with newest(log).open("ab") as file:
        file.write(b"x" + bytes(30))
    assert sizes(log)[-1] == SEGMENT_BYTES + 31


def test_an_empty_file_has_no_bytes(tmp_path: Path) -> None:
    make_log(tmp_path / "orders-0").close()
    (found,) = find_partition_logs(PlaceFiles(), str(tmp_path))
    assert [segment.size_bytes for segment in found.segments] == [0]


def assert_readable(log: Log, files: PlaceFiles) -> None:
    (found,) = find_partition_logs(files, str(Path(log.directory).parent))
    rows = sum(
        1
        for split in SplitPlanner(PlaceFiles()).plan_splits(found, OffsetsToRead())
        for _ in split_headers(PlaceFiles(), split, DamagePolicy())
    )
    assert rows >= log.segments.active.base_offset


@pytest.mark.parametrize("every", range(1, 9))
def test_a_log_that_gets_more_while_it_is_looked_at_can_be_read(log: Log, every: int) -> None:
    assert_readable(log, PlaceFiles(local=BusyFiles(lambda: append(log, VALUE), every)))


@pytest.mark.parametrize("at", range(1, 9))
def test_a_log_that_is_rolled_while_it_is_looked_at_can_be_read(log: Log, at: int) -> None:
    assert_readable(log, PlaceFiles(local=BusyFiles(log.roll, at, once=True)))


def test_a_copy_whose_index_is_younger_than_its_log_can_be_read(log: Log) -> None:
    written, data = log.segments.active.size, newest(log).read_bytes()
    for _ in range(20):
        append(log, VALUE)
    log.close()
    newest(log).write_bytes(data)
    (found,) = find_partition_logs(PlaceFiles(), str(Path(log.directory).parent))
    assert found.segments[-1].size_bytes == written
