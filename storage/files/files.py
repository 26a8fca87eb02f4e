"""The only module that opens, writes, syncs, renames, truncates, deletes and locks files.

A `FileHandle` names a file; its descriptor is opened on first use and kept in a bounded list: what was not used
for longest gives way, as far as one bit tells (second chance).
A caller that needs one for longer (a slice on its way to a socket) holds the `OpenFile`: the descriptor closes when the
last holder is gone, whatever happened to the name meanwhile. Failures of the disk surface as `DiskFault`.

Tests hand in a `Files` that loses unsynced bytes, fills the disk or fails to sync.
"""

# A log directory holds ten thousands of names, so they stay plain strings.
# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH112, PTH116, PTH120

import ctypes
import errno
import os
import resource
import shutil
import stat
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final, NamedTuple

from ...protocol.errors import DiskFault
from .file_handle import Buffer, FileHandle, OpenFile
from .file_lock import FileLock, acquire_lock

MAX_PIECES_PER_WRITE = 1024  # IOV_MAX on Linux
DEFAULT_MAX_OPEN = 512
LEAST_MAX_OPEN = 4
PRIVATE = 0o600
TEMPORARY = ".tmp"

DISK_FAILURES: Final = frozenset(
    {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE}
)
"""Errors of a disk as a whole, which fails or is full. Others are about one file, or about this process."""
NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})


class DirectoryEntry(NamedTuple):
    """One name in a folder; `size_bytes` is 0 for a folder. A tuple, since a start makes one for each file.

    `version` is what an object store says of the bytes that the name has; None on a disk.
    """

    name: str
    is_directory: bool
    size_bytes: int
    version: Hashable = None


def errno_of(fault: DiskFault) -> int:
    """The error number of the operating system; 0 where it had no part in the fault."""
    cause = fault.__cause__
    return cause.errno or 0 if isinstance(cause, OSError) else 0


def _reason(fault: OSError) -> str:
    if isinstance(fault, IsADirectoryError):
        return "a file was expected, found a folder: move it away"
    if fault.errno in NO_DESCRIPTORS:
        return f"{fault.strerror}: raise the limit of open files"
    return fault.strerror or str(fault)


def _default_max_open() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return DEFAULT_MAX_OPEN
    return max(LEAST_MAX_OPEN, min(DEFAULT_MAX_OPEN, limit // 2))


class Files:
    """The file system, with at most `max_open` descriptors kept open (more only while somebody holds them).

    As a default these are 512, or half of what the process may have.

    With `read_only` handles are opened for reading, so that somebody else's files can be looked at.
    `on_fault` has what is called with the path and the fault when the operating system refuses an operation, in the
    thread that asked for it, before the fault is raised.
    """

    def __init__(self, *, max_open: int | None = None, read_only: bool = False) -> None:
        self._access = os.O_RDONLY if read_only else os.O_RDWR
        self._max_open = _default_max_open() if max_open is None else max_open
        self._kept: dict[FileHandle, None] = {}
        self._admission = Lock()
        self.on_fault: list[Callable[[str, DiskFault], None]] = []

    # Faults

    def report(self, path: str, error: OSError, doing: str = "") -> DiskFault:
        """The fault to raise for `error`; `on_fault` has been called."""
        fault = DiskFault(f"{path}: {doing}{_reason(error)}")
        fault.__cause__ = error
        for react in self.on_fault:
            react(path, fault)
        return fault

    @contextmanager
    def _disk_faults(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.report(path, error) from error

    # Descriptors

    def handle(self, path: str) -> FileHandle:
        """A handle on the file `path`, which need not exist yet."""
        return FileHandle(self, path)

    @property
    def open_count(self) -> int:
        """How many descriptors are kept open for later use."""
        return len(self._kept)

    def admit(self, handle: FileHandle, *, create: bool) -> OpenFile:
        with self._admission:
            opened = handle.open_file_in_use() or self._open(handle.path, create=create)
            handle.take(opened)
            self._kept[handle] = None
            while len(self._kept) > self._max_open:
                self._close_unused_file()
            return opened

    def _close_unused_file(self) -> None:
        """Let go of the first descriptor that was not used since it was last looked at here."""
        handle = next(iter(self._kept))
        while handle.was_used:
            handle.was_used = False
            self._kept[handle] = self._kept.pop(handle)
            handle = next(iter(self._kept))
        del self._kept[handle]
        handle.drop()

    def close(self, handle: FileHandle) -> None:
        """Let go of the descriptor; others may still hold it."""
        with self._admission:
            self._kept.pop(handle, None)
            handle.drop()

    def _open(self, path: str, *, create: bool) -> OpenFile:
        flags = self._access | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with self._disk_faults(path):
            return OpenFile(_open_regular(path, flags, 0o644), path, self.report)

    # Contents, by handle; the open file is held meanwhile, or its number might be another file's by then

    def read(self, handle: FileHandle, size: int, position: int) -> bytes:
        opened = handle.open()
        try:
            return os.pread(opened.fd, size, position)
        except OSError as error:
            raise self.report(handle.path, error, f"reading {size} bytes at {position}: ") from error

    def read_into(self, handle: FileHandle, buffer: Buffer, position: int) -> int:
        opened = handle.open()
        try:
            return os.preadv(opened.fd, [buffer], position)
        except OSError as error:
            raise self.report(handle.path, error, f"reading at {position}: ") from error

    def write(self, handle: FileHandle, pieces: Sequence[Buffer], position: int) -> int:
        opened = handle.open_or_create()
        try:
            return _write_fully(opened.fd, pieces, position)
        except OSError as error:
            raise self.report(handle.path, error, f"writing at {position}: ") from error

    def truncate(self, handle: FileHandle, size: int) -> None:
        opened = handle.open_or_create()
        with self._disk_faults(handle.path):
            os.ftruncate(opened.fd, size)

    def allocate(self, handle: FileHandle, size: int) -> None:
        """Reserve space so that the file is `size` bytes long, the new ones zero."""
        opened = handle.open_or_create()
        with self._disk_faults(handle.path):
            os.posix_fallocate(opened.fd, 0, size)

    def sync(self, handle: FileHandle) -> None:
        opened = handle.open()
        with self._disk_faults(handle.path):
            os.fsync(opened.fd)

    # Whole files, by name

    def read_whole(self, path: str, limit: int) -> bytes | None:
        """The bytes of a small file, or None when there is none.

        Raises: DiskFault when it cannot be read or is longer than `limit` bytes.
        """
        try:
            fd = _open_regular(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.report(path, error) from error
        with self._disk_faults(path):
            try:
                return _read_up_to(fd, path, limit)
            finally:
                os.close(fd)

    def create(self, path: str, data: bytes = b"") -> None:
        """Make the file with `data`, replacing what had its name; not synced."""
        with self._disk_faults(path):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                _write_fully(fd, [data], 0)
            finally:
                os.close(fd)

    def make_private(self, path: str) -> bool:
        """Have the file readable by its owner only, made if it is missing; whether others could read it.

        Raises: DiskFault.
        """
        with self._disk_faults(path):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
            try:
                is_public = stat.S_IMODE(os.fstat(fd).st_mode) & ~PRIVATE != 0
                if is_public:
                    os.fchmod(fd, PRIVATE)
                return is_public
            finally:
                os.close(fd)

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        """Put `data` in place of the file `path` at once: `path.tmp`, fsync, rename, fsync of the folder.

        Without `sync` a crash of the machine may leave the old file or an empty one; a crash of the process may not.
        A `private` one is never readable by others than its owner.
        """
        self.write_temporary(path, data, private=private)
        self.rename_temporary(path, sync=sync)

    def write_temporary(self, path: str, data: bytes, *, private: bool = False) -> None:
        """The first part of `replace`, which waits for no disk: `path.tmp` with `data`."""
        temporary = self.handle(path + TEMPORARY)
        self.remove(temporary.path)
        if private:
            self.make_private(temporary.path)
        try:
            temporary.write([data], 0)
        finally:
            temporary.close()

    def rename_temporary(self, path: str, *, sync: bool = True) -> None:
        """The second part of `replace`: `path.tmp` is `path` then."""
        if sync:
            temporary = self.handle(path + TEMPORARY)
            try:
                temporary.sync()
            finally:
                temporary.close()
        self.rename(path + TEMPORARY, path)
        if sync:
            self.sync_directory(os.path.dirname(path))

    def rename(self, old: str, new: str) -> None:
        with self._disk_faults(f"{old} to {new}"):
            os.replace(old, new)

    def remove(self, path: str) -> bool:
        """Whether there was a file to remove."""
        with self._disk_faults(path):
            try:
                os.unlink(path)
            except FileNotFoundError:
                return False
            return True

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def absolute(self, path: str) -> str:
        """The absolute path, links resolved, so that one folder has one name."""
        return os.path.realpath(path)

    def size(self, path: str) -> int:
        with self._disk_faults(path):
            return os.stat(path).st_size

    def mtime_ms(self, path: str) -> int:
        """When the file was last written, in ms since 1970."""
        with self._disk_faults(path):
            return os.stat(path).st_mtime_ns // 1_000_000

    def is_of_other_user(self, path: str) -> bool:
        """Whether the file belongs to another user than this process runs as."""
        with self._disk_faults(path):
            return os.stat(path).st_uid != os.geteuid()

    def set_modified_ms(self, path: str, time_ms: int) -> None:
        with self._disk_faults(path):
            os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))

    # Folders

    def entries(self, path: str) -> list[DirectoryEntry]:
        """What is in the folder, ordered by name."""
        with self._disk_faults(path), os.scandir(path) as found:
            return sorted(map(_to_directory_entry, found))  # by name, which comes first

    def names(self, path: str) -> set[str]:
        """The names of what is in the folder; none when it is gone."""
        try:
            return set(os.listdir(path))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return set()
        except OSError as error:
            raise self.report(path, error) from error

    def make_directory(self, path: str) -> None:
        """Make the folder and those above it that are missing."""
        with self._disk_faults(path):
            try:
                os.makedirs(path, exist_ok=True)
            except FileExistsError:
                raise DiskFault(f"{path}: a folder was expected, found a file") from None

    def space(self, path: str) -> tuple[int, int]:
        """Bytes of the file system that holds the folder: all, and those that this process may still use.

        As Java's File.getTotalSpace at most 2^63-1, for file systems that say what they like (FUSE).
        """
        with self._disk_faults(path):
            status = os.statvfs(path)
        most = 2**63 - 1
        return min(status.f_blocks * status.f_frsize, most), min(status.f_bavail * status.f_frsize, most)

    def remove_directory(self, path: str) -> None:
        """Remove the folder and all in it; nothing happens when it is gone."""
        with self._disk_faults(path), suppress(FileNotFoundError):
            shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        """Return when the names in the folder are on the disk."""
        with self._disk_faults(path):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def sync_file_system(self, path: str) -> None:
        """Return when all that was written to the file system of the folder is on the disk: one wait for thousands.

        Raises: DiskFault where any of it could not be written.
        """
        with self._disk_faults(path):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _sync_file_system(fd)
            finally:
                os.close(fd)

    # Locks

    def lock(self, path: str) -> FileLock | None:
        """The lock on the file `path`, made if missing, or None when another broker holds it.

        Raises: DiskFault when the file cannot be opened.
        """
        with self._disk_faults(path):
            return acquire_lock(path)


def _sync_file_system(fd: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "syncfs"):
        os.sync()  # of all file systems, and errors are not reported
    elif library.syncfs(fd):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _open_regular(path: str, flags: int, mode: int = 0o777) -> int:
    """The descriptor of a file or a folder. A pipe or a device would be waited for, or read, without end."""
    fd = os.open(path, flags | os.O_NONBLOCK, mode)
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "a file was expected, found a pipe or a device: move it away")


def _write_fully(fd: int, pieces: Sequence[Buffer], position: int) -> int:
    written = os.pwritev(fd, pieces, position) if len(pieces) <= MAX_PIECES_PER_WRITE else 0
    return written if written == sum(map(len, pieces)) else _write_rest(fd, pieces, position, written)


def _write_rest(fd: int, pieces: Sequence[Buffer], position: int, written: int) -> int:
    start = 0  # of the current piece, counted from the first byte to write
    for piece in pieces:
        view = memoryview(piece)
        while written < start + len(view):
            count = os.pwrite(fd, view[written - start :], position + written)
            if count == 0:
                raise OSError(errno.EIO, "nothing could be written")
            written += count
        start += len(view)
    return written


def _read_up_to(fd: int, path: str, limit: int) -> bytes:
    chunks = []
    size, asked = 0, min(limit + 1, 1 << 20)
    while chunk := os.pread(fd, asked, size):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise DiskFault(f"{path}: longer than the {limit} bytes such a file may have")
        if len(chunk) < asked:
            break  # fewer come only at the end
    return b"".join(chunks)


def _to_directory_entry(entry: os.DirEntry[str]) -> DirectoryEntry:
    try:
        status = entry.stat()
    except FileNotFoundError:  # a link to nothing, or gone meanwhile
        return DirectoryEntry(entry.name, False, 0)
    is_directory = stat.S_ISDIR(status.st_mode)
    return DirectoryEntry(entry.name, is_directory, 0 if is_directory else status.st_size)
