"""Retention by start, size and time, and how deleted segments leave the disk."""

import logging
import os
from pathlib import Path

import pytest
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.storage.log.log import Log
from support.logs import NOW, append, batch, file_names, make_log, read_all, values_of

SIZE = len(batch(b"0"))


def filled(directory: Path, count: int = 5, **config: object) -> Log:
    """A log with one record of `SIZE` bytes in each segment; the timestamps are NOW, NOW + 1000, …"""
    log = make_log(directory / "orders-0", segment_bytes=SIZE, **config)
    for n in range(count):
        append(log, b"%d" % n, timestamp=NOW + 1000 * n)
    return log


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_nothing_goes_while_the_limits_hold(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=5000, retention_bytes=5 * SIZE)
    assert log.delete_old_segments(NOW + 5000) == 0


def test_segments_older_than_the_limit_go(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=5000)
    assert log.delete_old_segments(NOW + 7000) == 2
    assert (bases(log), log.log_start_offset) == ([2, 3, 4], 2)
    assert values_of(read_all(log)) == [b"2", b"3", b"4"]


def test_the_active_segment_may_go_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=5000)
    assert log.delete_old_segments(NOW + 100_000) == 5
    assert (bases(log), log.log_start_offset, log.log_end_offset) == ([5], 5, 5)
    assert log.delete_old_segments(NOW + 100_000) == 0
    append(log, b"5")
    assert values_of(read_all(log)) == [b"5"]


def test_the_log_is_never_cut_below_the_size_limit(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=-1, retention_bytes=3 * SIZE - 1)
    assert log.delete_old_segments(NOW) == 2
    log.reconfigure(make_log(tmp_path / "other-0", retention_ms=-1, retention_bytes=2 * SIZE + 1).config)
    assert log.delete_old_segments(NOW) == 0


def test_minus_one_keeps_everything(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=-1, retention_bytes=-1)
    assert log.delete_old_segments(NOW + 10**12) == 0


def test_a_future_timestamp_keeps_its_segment_and_those_after(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=SIZE, retention_ms=5000)
    for timestamp in (NOW, NOW + 10**9, NOW):
        append(log, b"0", timestamp=timestamp)
    assert log.delete_old_segments(NOW + 10_000) == 1


def test_without_timestamps_the_time_of_the_file_counts(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=27, retention_ms=5000)
    for offset in range(2):
        log.append_as_follower(batch(b"a", magic=0, first_offset=offset))
    os.utime(log.segments[0].file.path, (NOW // 1000 - 6, NOW // 1000 - 6))
    os.utime(log.segments[1].file.path, (NOW // 1000 - 4, NOW // 1000 - 4))
    assert log.delete_old_segments(NOW) == 1


def test_no_more_than_asked_for_go_at_once(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=0)
    assert [log.delete_old_segments(NOW + 10**6, most=2) for _ in range(4)] == [2, 2, 1, 0]
    assert bases(log) == [5]


def test_nothing_above_the_high_watermark_goes(tmp_path: Path) -> None:
    log = filled(tmp_path, retention_ms=0)
    assert log.delete_old_segments(NOW + 10**6, high_watermark=3) == 3
    assert bases(log) == [3, 4]


def test_a_moved_start_lets_segments_go_without_the_policy_delete(tmp_path: Path) -> None:
    log = filled(tmp_path, cleanup_policy=("compact",), retention_ms=0)
    assert log.delete_old_segments(NOW + 10**6) == 0
    assert log.advance_log_start(2)
    assert log.delete_old_segments(NOW) == 2
    assert bases(log) == [2, 3, 4]


def test_deleted_records_are_out_of_range_at_once(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.advance_log_start(2)
    assert not log.advance_log_start(1)
    assert log.starts_inside_segment
    with pytest.raises(ApiError) as refused:
        log.read(1, 100, below=5)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    with pytest.raises(ApiError):
        log.advance_log_start(6)


def test_epochs_follow_the_start(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    for epoch in range(4):
        append(log, b"a", leader_epoch=epoch)
    log.advance_log_start(2)
    assert log.epochs.entries == [(2, 2), (3, 3)]


def test_files_are_renamed_first_and_removed_when_the_delay_is_over(tmp_path: Path) -> None:
    log = filled(tmp_path, count=2, retention_ms=0, file_delete_delay_ms=500)
    log.delete_old_segments(NOW + 500, high_watermark=1)
    names = file_names(tmp_path / "orders-0")
    assert [name for name in names if name.endswith(".deleted")] == [
        f"{0:020d}.{kind}.deleted" for kind in ("index", "log", "timeindex")
    ]
    deletions = log._deletions
    assert deletions.delete_due(NOW + 499) == 0
    assert deletions.delete_due(NOW + 500) == 3
    assert not [name for name in file_names(tmp_path / "orders-0") if name.endswith(".deleted")]


def test_every_deletion_is_said_with_offsets_bytes_and_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Fault: retention deleted without a line in the log."""
    log = filled(tmp_path, count=6, retention_ms=5000, retention_bytes=4 * SIZE)
    log.advance_log_start(1)
    due = log.describe_due_deletions(NOW + 8500, log.log_end_offset)
    with caplog.at_level(logging.INFO):
        assert log.delete_old_segments(NOW + 8500) == 4
    assert [line.getMessage() for line in caplog.records] == [
        f"orders-0: deletes offsets 0 to 0, 1 segment of {SIZE} bytes: the log starts at 1",
        f"orders-0: deletes offsets 1 to 1, 1 segment of {SIZE} bytes: retention.bytes={4 * SIZE}",
        f"orders-0: deletes offsets 2 to 3, 2 segments of {2 * SIZE} bytes: retention.ms=5000",
    ]
    assert due == [line.getMessage().removeprefix("orders-0: deletes ") for line in caplog.records]
