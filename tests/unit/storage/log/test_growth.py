"""Files that grow ahead of what is appended: how long they are, and that nobody notices."""

import logging
import os
from pathlib import Path

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.directories.log_dirs import LogDirs
from stepdown.storage.files.files import Files
from stepdown.storage.files.large_folios import MOUNTS, has_large_folios
from stepdown.storage.log.log import Log
from stepdown.storage.log.log_config import LogConfig
from support.clock import ManualClock
from support.files import FaultyFiles
from support.logs import NOW, append, batch, make_log, read_all, values_of

GROWTH = 4000
SEGMENT = f"{0:020d}.log"
SMALL = 100
APPENDED = len(batch(SMALL))


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles(growth_bytes=GROWTH)


@pytest.fixture
def log(tmp_path: Path, files: FaultyFiles) -> Log:
    return make_log(tmp_path / "orders-0", files=files)


def size_of(log: Log, name: str = SEGMENT) -> int:
    return (Path(log.directory) / name).stat().st_size


def append_until(log: Log, size_bytes: int) -> None:
    while log.size_bytes < size_bytes:
        append(log, SMALL)


def assert_holds(log: Log, count: int) -> None:
    assert values_of(read_all(log)) == [bytes(SMALL)] * count


def test_a_file_that_gets_little_is_as_long_as_what_it_holds(log: Log) -> None:
    while log.size_bytes + APPENDED <= GROWTH // 2:
        append(log, SMALL)
        assert size_of(log) == log.size_bytes


def test_a_file_that_gets_more_grows_by_whole_steps(log: Log) -> None:
    append_until(log, GROWTH // 2 + 1)
    assert size_of(log) == GROWTH
    append_until(log, GROWTH - APPENDED)
    assert size_of(log) == GROWTH
    append_until(log, GROWTH + 1)
    assert size_of(log) == 2 * GROWTH
    assert_holds(log, log.log_end_offset)
    assert (Path(log.directory) / SEGMENT).read_bytes()[log.size_bytes :].strip(b"\0") == b""


def test_none_is_longer_than_a_segment_may_be(tmp_path: Path, files: FaultyFiles) -> None:
    log = make_log(tmp_path / "orders-0", files=files, segment_bytes=GROWTH + 100)
    append_until(log, GROWTH + 1)
    assert size_of(log) == GROWTH + 100


def test_large_appends_leave_no_room_behind_them(log: Log) -> None:
    for _ in range(10):
        append(log, GROWTH // 4)
        assert size_of(log) == log.size_bytes


def test_nor_do_preallocated_files_grow(tmp_path: Path, files: FaultyFiles) -> None:
    log = make_log(tmp_path / "orders-0", files=files, preallocate=True, segment_bytes=50_000)
    append_until(log, 2 * GROWTH)
    log.settle()
    assert size_of(log) == 50_000


def test_nor_where_it_would_not_help(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", files=Files())
    append_until(log, 2 * GROWTH)
    assert size_of(log) == log.size_bytes


def test_a_quiet_file_is_cut_and_grows_again_when_it_gets_more(log: Log, files: FaultyFiles) -> None:
    append_until(log, GROWTH + 1)
    kept = log.read(0, 1 << 20, below=log.log_end_offset)
    assert kept.file is not None
    generation = kept.file.generation
    log.settle()
    assert size_of(log) == log.size_bytes
    assert kept.file.generation == generation  # no byte that anybody knows of is another now
    before = log.size_bytes
    append(log, SMALL)
    assert size_of(log) == log.size_bytes
    append_until(log, before + GROWTH // 2 + 1)
    assert size_of(log) == 2 * GROWTH
    assert_holds(log, log.log_end_offset)


@pytest.mark.parametrize("way", ["roll", "close", "flush"])
def test_a_file_that_is_rolled_closed_or_flushed_is_as_long_as_what_it_holds(log: Log, way: str) -> None:
    append_until(log, GROWTH + 1)
    held = log.size_bytes
    assert size_of(log) > held
    getattr(log, way)()
    assert size_of(log) == held


@pytest.mark.parametrize("flushed", [False, True])
def test_the_zeros_are_cut_off_after_a_crash(
    tmp_path: Path, log: Log, flushed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    append_until(log, GROWTH - 2 * APPENDED)
    if flushed:
        log.flush()
    append_until(log, 2 * GROWTH - APPENDED)
    count, held, checkpoint = log.log_end_offset, log.size_bytes, log.recovery_point
    assert size_of(log) > held
    log.release()
    with caplog.at_level(logging.INFO):
        again = make_log(tmp_path / "orders-0", clean=False, recovery_point=checkpoint)
    (told,) = [record for record in caplog.records if record.name.endswith("recovery")]
    assert told.levelno == logging.INFO
    assert f"the last {2 * GROWTH - held} bytes were set aside" in told.message
    assert size_of(again) == again.size_bytes == held
    assert_holds(again, count)


def test_truncating_cuts_them_off_too(log: Log) -> None:
    append_until(log, GROWTH + 1)
    log.truncate_to(3)
    assert size_of(log) == log.size_bytes
    append_until(log, 2 * GROWTH)
    log.close()
    assert size_of(log) == log.size_bytes
    assert_holds(log, log.log_end_offset)


def test_a_disk_with_space_for_the_append_alone_takes_it(log: Log, files: FaultyFiles) -> None:
    append_until(log, GROWTH - APPENDED)
    files.space_left = 10 * APPENDED
    append_until(log, GROWTH + 1)
    assert size_of(log) == log.size_bytes
    assert 0 < files.space_left < 10 * APPENDED
    files.space_left = None
    append_until(log, 3 * GROWTH)
    log.close()
    assert size_of(log) == log.size_bytes
    assert_holds(log, log.log_end_offset)


def test_a_disk_that_does_not_cut_is_asked_again_at_the_end(log: Log, files: FaultyFiles) -> None:
    append_until(log, GROWTH + 1)
    files.fails_truncate = True
    log.settle()
    assert size_of(log) > log.size_bytes
    files.fails_truncate = False
    log.close()
    assert size_of(log) == log.size_bytes


def test_only_logs_that_are_quiet_are_called_so(tmp_path: Path, files: FaultyFiles) -> None:
    dirs = LogDirs([str(tmp_path)], files, ManualClock(NOW), LogConfig())
    busy, quiet, little = (dirs.create(name, 0, None) for name in ("busy", "quiet", "little"))
    append(little, SMALL)
    append_until(busy, GROWTH + 1)
    append_until(quiet, GROWTH + 1)
    assert dirs.take_quiet() == []
    append(busy, SMALL)
    assert dirs.take_quiet() == [quiet]
    assert dirs.take_quiet() == [busy]
    quiet.settle()
    assert dirs.take_quiet() == []
    append_until(quiet, 2 * GROWTH + 1)
    append_until(busy, 2 * GROWTH + 1)
    dirs.delete("quiet", 0)
    assert dirs.take_quiet() == []
    assert dirs.take_quiet() == [busy]
    dirs.shutdown()


def test_a_disk_that_does_not_cut_before_a_flush_closes_the_log_to_appends(tmp_path: Path, files: FaultyFiles) -> None:
    log = make_log(tmp_path / "orders-0", files=files, flush_messages=25)
    for _ in range(24):
        append(log, SMALL)
    files.fails_truncate = True
    for _ in range(2):
        with pytest.raises(DiskFault, match="Input/output error"):
            append(log, SMALL)
    assert log.log_end_offset == 25  # as where a sync fails: the next is refused, not taken and called a failure


def test_a_log_that_is_deleted_cuts_nothing_of_the_one_that_has_its_name(tmp_path: Path, files: FaultyFiles) -> None:
    dirs = LogDirs([str(tmp_path)], files, ManualClock(NOW), LogConfig())
    old = dirs.create("a", 0, None)
    append_until(old, GROWTH + 1)
    dirs.delete("a", 0)
    new = dirs.create("a", 0, None)
    append_until(new, 3 * GROWTH)
    old.settle()
    old.segments.active.settle()
    with pytest.raises(DiskFault, match="deleted"):
        old.plan_flush().run()
    assert_holds(new, new.log_end_offset)
    assert size_of(new) >= 3 * GROWTH


def test_a_disk_that_has_space_again_is_used(log: Log, files: FaultyFiles) -> None:
    append_until(log, GROWTH - APPENDED)
    files.space_left = 10 * APPENDED
    append_until(log, GROWTH + 1)
    files.space_left = None
    append_until(log, 2 * GROWTH + 1)
    assert size_of(log) == 3 * GROWTH


# Where it helps

MOUNTED = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 {device} / / rw,relatime shared:1 master:2 - {kind} /dev/vda rw,discard
"""


@pytest.mark.parametrize(
    ("kind", "release", "expected"),
    [
        ("ext4", "6.16.0", True),
        ("ext4", "6.18.44-generic", True),
        ("ext4", "7.0-rc1", True),
        ("ext4", "6.15.9", False),
        ("ext4", "5.10.0-33-amd64", False),
        ("xfs", "6.6.0", True),
        ("xfs", "6.5.13", False),
        ("tmpfs", "6.18.0", False),
        ("overlay", "6.18.0", False),
        ("ext4", "unknown", False),
    ],
)
def test_large_folios_are_told_by_file_system_and_kernel(
    tmp_path: Path, kind: str, release: str, expected: bool
) -> None:
    device = tmp_path.stat().st_dev
    mounts = MOUNTED.format(device=f"{os.major(device)}:{os.minor(device)}", kind=kind)
    assert has_large_folios(device, mounts, release) is expected


def test_files_of_a_file_system_that_journals_data_have_none(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    mounts = MOUNTED.format(device=f"{os.major(device)}:{os.minor(device)}", kind="ext4")
    assert has_large_folios(device, mounts, "6.18.0")
    assert not has_large_folios(device, mounts.replace("rw,discard", "rw,data=journal"), "6.18.0")


def test_a_device_that_is_not_mounted_has_none(tmp_path: Path) -> None:
    assert not has_large_folios(tmp_path.stat().st_dev, MOUNTED.format(device="999:999", kind="ext4"), "6.18.0")
    assert not has_large_folios(tmp_path.stat().st_dev, "nonsense\n\n", "6.18.0")


def test_files_grow_where_the_system_says_so(tmp_path: Path) -> None:
    helps = Path(MOUNTS).exists() and has_large_folios(
        tmp_path.stat().st_dev, Path(MOUNTS).read_text(), os.uname().release
    )
    assert Files(growth_bytes=GROWTH).growth_bytes(str(tmp_path / "orders-0")) == (GROWTH if helps else 0)
    assert Files().growth_bytes(str(tmp_path / "orders-0")) == 0
    assert Files(growth_bytes=GROWTH).growth_bytes(str(tmp_path / "missing" / "orders-0")) == 0
