"""Closing one log and many: what was acknowledged is on the disk before the mark of a clean stop is."""

from pathlib import Path

import pytest
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.directories.new_logs import MANY
from support.clock import ManualClock
from support.files import FaultyFiles
from support.logs import NOW, append, read_all, values_of

SIZES = pytest.mark.parametrize("logs", [1, MANY - 1, MANY, 3 * MANY])


def open_and_fill(directory: Path, files: FaultyFiles, logs: int) -> LogManager:
    dirs = LogManager([str(directory)], files, ManualClock(NOW))
    for partition in range(logs):
        append(dirs.create("orders", partition, None), b"%d" % partition)
    return dirs


@SIZES
def test_a_power_cut_after_a_clean_stop_takes_nothing(tmp_path: Path, logs: int) -> None:
    files = FaultyFiles()
    open_and_fill(tmp_path, files, logs).shutdown()
    files.lose_power()
    again = LogManager([str(tmp_path)], FaultyFiles(), ManualClock(NOW))
    assert again.was_clean(str(tmp_path))
    assert [values_of(read_all(again.logs["orders", partition])) for partition in range(logs)] == [
        [b"%d" % partition] for partition in range(logs)
    ]
    assert {log.recovery_point for log in again.logs.values()} == {1}


@SIZES
def test_a_disk_that_cannot_sync_leaves_no_mark(tmp_path: Path, logs: int, caplog: pytest.LogCaptureFixture) -> None:
    files = FaultyFiles()
    dirs = open_and_fill(tmp_path, files, logs)
    files.fails_sync = True
    dirs.shutdown()
    assert "could not be closed cleanly" in caplog.text
    again = LogManager([str(tmp_path)], FaultyFiles(), ManualClock(NOW))
    assert not again.was_clean(str(tmp_path))
    assert len(again.logs) == logs


@pytest.mark.lengthy
@SIZES
def test_a_power_cut_before_the_sync_leaves_logs_that_open(tmp_path: Path, logs: int) -> None:
    files = FaultyFiles()
    dirs = open_and_fill(tmp_path, files, logs)
    for log in dirs.logs.values():
        log.flush()
        append(log, b"later")
    dirs.checkpoints.write_recovery_points()
    files.fails_sync = True
    dirs.shutdown()
    files.lose_power()
    again = LogManager([str(tmp_path)], FaultyFiles(), ManualClock(NOW))
    for partition in range(logs):
        log = again.logs["orders", partition]
        assert values_of(read_all(log))[0] == b"%d" % partition
        assert all(offset <= log.log_end_offset for offset in log.producers.snapshots.offsets)


def test_the_disk_is_waited_for_less_often_than_there_are_logs(tmp_path: Path) -> None:
    files = FaultyFiles()
    dirs = open_and_fill(tmp_path, files, 3 * MANY)
    before = files.syncs
    dirs.shutdown()
    assert files.syncs - before < MANY
