"""Descriptors, whole-file writes and locks."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.files.file_handle import FileHandle, OpenFile
from stepdown.storage.files.file_names import log_delete_dir_name, offset_of_file_name, parse_log_folder_name
from stepdown.storage.files.file_slice import EMPTY_SLICE
from stepdown.storage.files.files import MAX_PIECES_PER_WRITE, Files


def open_descriptors(directory: Path) -> int:
    links = (os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return sum(1 for link in links if link.startswith(str(directory)))


def test_descriptors_are_opened_when_used_and_the_oldest_is_closed(tmp_path: Path) -> None:
    files = Files(max_open=3)
    handles = [files.handle(str(tmp_path / str(n))) for n in range(5)]
    assert open_descriptors(tmp_path) == 0
    for handle in handles:
        handle.write([b"x"], 0)
    assert open_descriptors(tmp_path) == files.open_count == 3
    assert handles[0].read(1, 0) == b"x"
    assert open_descriptors(tmp_path) == 3


class SoonClosingFiles(Files):
    """Another thread lets go of each file as soon as somebody has it."""

    def open_and_keep(self, handle: FileHandle, *, create: bool) -> OpenFile:
        opened = super().open_and_keep(handle, create=create)
        self.close(handle)
        return opened


@pytest.mark.parametrize(
    "use",
    [
        lambda handle: handle.write([b"x"], 0),
        lambda handle: handle.read(1, 0),
        lambda handle: handle.read_into(bytearray(1), 0),
        lambda handle: handle.truncate(1),
        lambda handle: handle.sync(),
        lambda handle: Files().allocate(handle, 8),
    ],
    ids=["write", "read", "read into", "truncate", "sync", "allocate"],
)
def test_a_file_is_held_while_it_is_used(tmp_path: Path, use: Callable[[FileHandle], object]) -> None:
    """Its number could be closed, and be another file's, between asking for it and the call of the kernel."""
    (tmp_path / "a").write_bytes(b"x")
    use(SoonClosingFiles().handle(str(tmp_path / "a")))


def test_a_held_file_stays_open_and_is_not_opened_twice(tmp_path: Path) -> None:
    files = Files(max_open=1)
    first, second = (files.handle(str(tmp_path / name)) for name in "ab")
    first.write([b"x"], 0)
    held = first.open()
    second.write([b"y"], 0)
    assert open_descriptors(tmp_path) == 2
    assert first.open() is held
    del held
    first.close()
    second.close()
    assert open_descriptors(tmp_path) == 0


def test_reading_a_missing_file_does_not_make_it(tmp_path: Path) -> None:
    files = Files()
    with pytest.raises(DiskFault, match="No such file"):
        files.handle(str(tmp_path / "x")).read(1, 0)
    assert files.read_whole(str(tmp_path / "x"), 10) is None
    assert list(tmp_path.iterdir()) == []


def test_more_pieces_than_one_call_takes_are_written_in_order(tmp_path: Path) -> None:
    pieces = [b"%06d" % n for n in range(MAX_PIECES_PER_WRITE * 2 + 7)]
    handle = Files().handle(str(tmp_path / "x"))
    assert handle.write(pieces, 3) == 6 * len(pieces)
    assert (tmp_path / "x").read_bytes() == b"\0\0\0" + b"".join(pieces)


def test_a_write_that_stops_halfway_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, pieces, at: whole(fd, [b"".join(pieces)[:5]], at))
    handle = Files().handle(str(tmp_path / "x"))
    assert handle.write([b"abc", b"", b"defg", b"hi"], 0) == 9
    assert (tmp_path / "x").read_bytes() == b"abcdefghi"


def test_a_small_file_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(11))
    with pytest.raises(DiskFault, match="longer than the 10 bytes"):
        Files().read_whole(str(tmp_path / "x"), 10)


def test_a_replaced_file_is_old_or_new(tmp_path: Path) -> None:
    files = Files()
    (tmp_path / "x.tmp").write_bytes(b"left over and longer")
    files.replace(str(tmp_path / "x"), b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_lock_excludes_until_it_is_released(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    lock = Files().lock(path)
    assert lock is not None
    assert Files().lock(path) is None
    assert Files().lock(path) is None  # the failed attempt did not lose the lock
    lock.release()
    assert Files().lock(path) is not None


def test_the_empty_slice_has_no_file() -> None:
    assert EMPTY_SLICE.read(0, 10) == b""
    with pytest.raises(ValueError, match="no file"):
        EMPTY_SLICE.fileno()


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("a-0", ("a", 0, "")),
        ("a-b.c-12", ("a-b.c", 12, "")),
        ("a-0.0123456789abcdef0123456789abcdef-delete", ("a", 0, "-delete")),
        ("a.b-3.0123456789abcdef0123456789abcdef-future", ("a.b", 3, "-future")),
        ("a-3.0123456789abcdef0123456789abcdef-stray", ("a", 3, "-stray")),
        ("a", None),
        ("-0", None),
        ("a-", None),
        ("a-x", None),
        ("a-1-delete", None),
        ("lost+found", None),
        ("a-99999999999", None),
    ],
)
def test_a_folder_is_parsed_from_its_last_dash(name: str, parsed: tuple[str, int, str] | None) -> None:
    found = parse_log_folder_name(name)
    assert (found and (found.topic, found.partition, found.suffix)) == parsed


def test_the_name_of_a_deleted_log_fits_into_a_directory() -> None:
    name = log_delete_dir_name("t" * 249, 12, "0" * 32)
    assert len(name) == 255
    assert name.endswith("-12." + "0" * 32 + "-delete")


@pytest.mark.parametrize(("name", "offset"), [("00000000000000000012.log", 12), ("12.log", None), ("0" * 20, None)])
def test_a_segment_file_is_named_after_its_offset(name: str, offset: int | None) -> None:
    assert offset_of_file_name(name) == offset


def test_a_file_where_a_folder_belongs_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(DiskFault, match="data: a folder was expected, found a file"):
        Files().make_directory(str(tmp_path / "data"))


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_in_place_of_a_file_is_named(tmp_path: Path, kind: str, read_only: bool) -> None:
    """A start on a stranger's directory waited for the writer of a pipe, and could not be stopped by SIGTERM."""
    path = tmp_path / "meta.properties"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    files = Files(read_only=read_only)
    for read in (lambda: files.read_whole(str(path), 10), lambda: files.handle(str(path)).read(10, 0)):
        with pytest.raises(DiskFault, match="found a pipe or a device: move it away"):
            read()


def test_the_space_of_a_file_system_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may say what it likes; DescribeLogDirs answers an int64."""
    told = SimpleNamespace(f_blocks=2**62, f_bavail=2**61, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda path: told)
    assert Files().total_and_usable_bytes(str(tmp_path)) == (2**63 - 1, 2**63 - 1)
