"""ListOffsets: by timestamp, the largest timestamp, the segment starts of version 0, and by leader epoch."""

import itertools
import os
from pathlib import Path

import pytest
from stepdown.protocol.records.batches import iter_batches, view_batch
from stepdown.protocol.records.layout import Codec
from stepdown.storage.log.offset_lookup import TimestampOffset, _find_in_columns, _find_in_records
from support.clock import ManualClock
from support.logs import NOW, append, batch, make_log


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_timestamp_leads_to_the_first_record_not_before_it(tmp_path: Path, codec: Codec) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=500, index_interval_bytes=100)
    for n in range(20):
        append(log, b"a", b"b", b"c", timestamp=1000 + 10 * n, leader_epoch=4, codec=codec)
    assert len(log.segments) > 3
    assert log.offset_for_timestamp(0) == TimestampOffset(timestamp=1000, offset=0, leader_epoch=4)
    assert log.offset_for_timestamp(1051) == TimestampOffset(timestamp=1051, offset=16, leader_epoch=4)
    assert log.offset_for_timestamp(1053) == TimestampOffset(timestamp=1060, offset=18, leader_epoch=4)
    assert log.offset_for_timestamp(1192) == TimestampOffset(timestamp=1192, offset=59, leader_epoch=4)
    assert log.offset_for_timestamp(1193) is None


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("magic", [1, 2])
def test_a_large_batch_is_searched_as_a_small_one(codec: Codec, magic: int) -> None:
    """140,000 records were decoded one by one on the event loop, for half a second."""
    if (magic, codec) == (1, Codec.ZSTD):
        pytest.skip("magic 1 has no zstd")
    data = batch(*[0] * 2_000, timestamp=1000, magic=magic, codec=codec)
    for found in itertools.islice(iter_batches(data), 3):
        for timestamp in (0, 1000, 1999, 2999, 3000):
            for start in (0, 1, 1500, 2001):
                assert _find_in_columns(found, timestamp, start) == _find_in_records(found, timestamp, start)


def test_a_broken_batch_is_searched_up_to_the_fault() -> None:
    data = bytearray(batch(*[10] * 200, timestamp=1000))
    data[-40] = 0x7F  # the length of a record, or what it has
    found = view_batch(memoryview(data))
    assert _find_in_columns(found, 1050, 0) == _find_in_records(found, 1050, 0) == (1050, 50)


def test_records_below_the_log_start_are_not_found(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    append(log, b"a", b"b", b"c", timestamp=1000)
    log.advance_log_start(1)
    found = log.offset_for_timestamp(0)
    assert found is not None
    assert found.offset == 1


def test_timestamps_that_go_back_do_not_hide_earlier_records(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", index_interval_bytes=0)
    for timestamp in (1000, 3000, 2000, 2500):
        append(log, b"a", timestamp=timestamp)
    found = log.offset_for_timestamp(1500)
    assert found is not None
    assert (found.offset, found.timestamp) == (1, 3000)


@pytest.mark.parametrize("reopened", [False, True])
def test_the_largest_timestamp_is_found_record_by_record(tmp_path: Path, reopened: bool) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=400)
    for timestamp in (1000, 5000, 2000, 3000, 4000, 100):
        append(log, b"a", b"b", b"c", timestamp=timestamp)
    if reopened:
        log.close()
        log = make_log(tmp_path / "orders-0")
    assert log.max_timestamp_offset() == TimestampOffset(timestamp=5002, offset=5, leader_epoch=0)


def test_magic_0_has_no_timestamps_to_find(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    assert log.max_timestamp_offset() is None
    log.append_as_follower(batch(b"a", magic=0))
    assert log.max_timestamp_offset() is None
    assert log.offset_for_timestamp(1) is None


def test_version_0_goes_by_the_times_of_segment_files(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", clock=ManualClock(NOW), segment_bytes=100)
    for _ in range(3):
        append(log, b"a")
    for segment, second in zip(log.segments, (10, 20, 30), strict=True):
        os.utime(segment.file.path, (second, second))
    assert log.legacy_offsets_before(-1, 10) == [3, 2, 1, 0]
    assert log.legacy_offsets_before(-1, 2) == [3, 2]
    assert log.legacy_offsets_before(-2, 10) == [0]
    assert log.legacy_offsets_before(20_000, 10) == [1, 0]
    assert log.legacy_offsets_before(9_999, 10) == []
    assert log.legacy_offsets_before(-1, -5) == []


def test_an_empty_log_has_only_its_start(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    assert log.legacy_offsets_before(-1, 10) == [0]


def test_epochs_end_where_the_next_begins(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    append(log, b"a", leader_epoch=1)
    append(log, b"b", leader_epoch=4)
    assert log.end_offset_for_epoch(1) == (1, 1)
    assert log.end_offset_for_epoch(3) == (1, 1)
    assert log.end_offset_for_epoch(4) == (4, 2)
    assert log.end_offset_for_epoch(5) == (-1, -1)
