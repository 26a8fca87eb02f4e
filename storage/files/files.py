"""The only module that opens, writes, syncs, renames, truncates, deletes and locks files.

A `FileHandle` names a file. Its descriptor is opened on first use and kept in a bounded cache with second-chance
eviction, which approximates LRU. A caller that needs the descriptor for longer, such as a slice that is being sent,
holds the `OpenFile`: the descriptor is closed when the last reference is gone, even if the file was renamed or deleted
meanwhile. Failures of the disk are raised as `DiskFault`.

Tests pass a `Files` that loses unsynced bytes, fills the disk or fails to sync.
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
"""Errors of a whole disk, which fails or is full. All others concern one file, or this process."""
NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})


class DirectoryEntry(NamedTuple):
    """One entry of a folder; `size_bytes` is 0 for a folder. A tuple, since a start makes one for each file.

    `version`: the version of the object in an object store; None on a disk.
    """

    name: str
    is_directory: bool
    size_bytes: int
    version: Hashable = None


def errno_of(fault: DiskFault) -> int:
    """The error number of the operating system; 0 if the fault did not come from it."""
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
    """The file system. It keeps at most `max_open` descriptors open: 512, or half of the process's limit if less.

    With `read_only` handles are opened for reading only, for files of other users. The functions in `on_fault` are
    called with the path and the fault when the operating system refuses an operation, in the calling thread, before
    the fault is raised.
    """

    def __init__(self, *, max_open: int | None = None, read_only: bool = False) -> None:
        self._access = os.O_RDONLY if read_only else os.O_RDWR
        self._max_open = _default_max_open() if max_open is None else max_open
        self._kept: dict[FileHandle, None] = {}
        self._admission = Lock()
        self.on_fault: list[Callable[[str, DiskFault], None]] = []

    # Faults

    def report(self, path: str, error: OSError, doing: str = "") -> DiskFault:
        """Calls the functions in `on_fault` and returns the fault to raise for `error`."""
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
        """The number of descriptors that are kept open for later use."""
        return len(self._kept)

    def open_and_keep(self, handle: FileHandle, *, create: bool) -> OpenFile:
        with self._admission:
            opened = handle.open_file_in_use() or self._open(handle.path, create=create)
            handle.keep_open_file(opened)
            self._kept[handle] = None
            while len(self._kept) > self._max_open:
                self._close_unused_file()
            return opened

    def _close_unused_file(self) -> None:
        """Drops the first descriptor that was not used since this method last passed it."""
        handle = next(iter(self._kept))
        while handle.was_used:
            handle.was_used = False
            self._kept[handle] = self._kept.pop(handle)
            handle = next(iter(self._kept))
        del self._kept[handle]
        handle.drop_open_file()

    def close(self, handle: FileHandle) -> None:
        """Drops the descriptor, which stays open while others hold the `OpenFile`."""
        with self._admission:
            self._kept.pop(handle, None)
            handle.drop_open_file()

    def _open(self, path: str, *, create: bool) -> OpenFile:
        flags = self._access | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with self._disk_faults(path):
            return OpenFile(_open_regular(path, flags, 0o644), path, self.report)

    # Contents, by handle. Each method holds the `OpenFile`, or its descriptor might be closed and reused meanwhile.

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
        opened = handle.opened
        if opened is None:
            opened = self.open_and_keep(handle, create=True)
        else:
            handle.was_used = True
        try:
            written = os.pwritev(opened.fd, pieces, position) if len(pieces) <= MAX_PIECES_PER_WRITE else 0
            return written if written == sum(map(len, pieces)) else _write_rest(opened.fd, pieces, position, written)
        except OSError as error:
            raise self.report(handle.path, error, f"writing at {position}: ") from error

    def truncate(self, handle: FileHandle, size: int) -> None:
        opened = handle.open_or_create()
        with self._disk_faults(handle.path):
            os.ftruncate(opened.fd, size)

    def allocate(self, handle: FileHandle, size: int) -> None:
        """Extends the file to `size` bytes with zeros, and reserves the space on the disk."""
        opened = handle.open_or_create()
        with self._disk_faults(handle.path):
            os.posix_fallocate(opened.fd, 0, size)

    def sync(self, handle: FileHandle) -> None:
        opened = handle.open()
        with self._disk_faults(handle.path):
            os.fsync(opened.fd)

    # Whole files, by name

    def read_whole(self, path: str, limit: int) -> bytes | None:
        """Reads a small file; returns None when there is none.

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
        """Writes a file with `data`, in place of one of that name; not synced."""
        with self._disk_faults(path):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                _write_rest(fd, [data], 0, 0)
            finally:
                os.close(fd)

    def make_private(self, path: str) -> bool:
        """Makes the file readable by its owner only, and creates it if missing; returns whether others could read it.

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
        """Replaces the file `path` by `data` atomically: writes `path.tmp`, syncs it, renames it, syncs the folder.

        Without `sync` a crash of the machine may leave the old file or an empty one, but a crash of the process cannot.
        A `private` file is at no time readable by others than its owner.
        """
        self.write_temporary(path, data, private=private)
        self.rename_temporary(path, sync=sync)

    def write_temporary(self, path: str, data: bytes, *, private: bool = False) -> None:
        """The first part of `replace`: writes `data` to `path.tmp`, without a sync."""
        temporary = self.handle(path + TEMPORARY)
        self.remove(temporary.path)
        if private:
            self.make_private(temporary.path)
        try:
            temporary.write([data], 0)
        finally:
            temporary.close()

    def rename_temporary(self, path: str, *, sync: bool = True) -> None:
        """The second part of `replace`: renames `path.tmp` to `path`."""
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
        """Removes the file; returns whether there was one."""
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
        """The absolute path with symbolic links resolved, so that each folder has one name only."""
        return os.path.realpath(path)

    def size(self, path: str) -> int:
        with self._disk_faults(path):
            return os.stat(path).st_size

    def mtime_ms(self, path: str) -> int:
        """When the file was last written, in ms since 1970."""
        with self._disk_faults(path):
            return os.stat(path).st_mtime_ns // 1_000_000

    def is_of_other_user(self, path: str) -> bool:
        """Whether the file belongs to a user other than that of this process."""
        with self._disk_faults(path):
            return os.stat(path).st_uid != os.geteuid()

    def set_mtime_ms(self, path: str, time_ms: int) -> None:
        with self._disk_faults(path):
            os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))

    # Folders

    def entries(self, path: str) -> list[DirectoryEntry]:
        """The entries of the folder, ordered by name."""
        with self._disk_faults(path), os.scandir(path) as found:
            return sorted(map(_to_directory_entry, found))  # by name, which comes first

    def names(self, path: str) -> set[str]:
        """The names in the folder; none when there is no such folder."""
        try:
            return set(os.listdir(path))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return set()
        except OSError as error:
            raise self.report(path, error) from error

    def make_directory(self, path: str) -> None:
        """Creates the folder and missing ones above it."""
        with self._disk_faults(path):
            try:
                os.makedirs(path, exist_ok=True)
            except FileExistsError:
                raise DiskFault(f"{path}: a folder was expected, found a file") from None

    def total_and_usable_bytes(self, path: str) -> tuple[int, int]:
        """The size of the file system that holds the folder, and the bytes that this process may still use.

        Both are at most 2^63-1, as with Java's File.getTotalSpace: some file systems (FUSE) return larger numbers.
        """
        with self._disk_faults(path):
            status = os.statvfs(path)
        most = 2**63 - 1
        return min(status.f_blocks * status.f_frsize, most), min(status.f_bavail * status.f_frsize, most)

    def remove_directory(self, path: str) -> None:
        """Removes the folder and all in it; does nothing when there is none."""
        with self._disk_faults(path), suppress(FileNotFoundError):
            shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        """Returns when the names in the folder are on the disk."""
        with self._disk_faults(path):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def sync_file_system(self, path: str) -> None:
        """Returns when all that was written to the folder's file system is on the disk, with one sync for all files.

        Raises: DiskFault if any of it could not be written.
        """
        with self._disk_faults(path):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _sync_file_system(fd)
            finally:
                os.close(fd)

    # Locks

    def lock(self, path: str) -> FileLock | None:
        """Locks the file `path`, creating it if missing; returns None when another broker holds the lock.

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
    """Opens a file or a folder. It refuses pipes and devices, which may block or have no end."""
    fd = os.open(path, flags | os.O_NONBLOCK, mode)
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "a file was expected, found a pipe or a device: move it away")


def _write_rest(fd: int, pieces: Sequence[Buffer], position: int, written: int) -> int:
    """Writes the pieces but for their first `written` bytes; returns the size of all."""
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
            break  # the file ends here
    return b"".join(chunks)


def _to_directory_entry(entry: os.DirEntry[str]) -> DirectoryEntry:
    try:
        status = entry.stat()
    except FileNotFoundError:  # a link to nothing, or gone meanwhile
        return DirectoryEntry(entry.name, False, 0)
    is_directory = stat.S_ISDIR(status.st_mode)
    return DirectoryEntry(entry.name, is_directory, 0 if is_directory else status.st_size)
