"""A file by name, opened when it is first used, and the open file with its descriptor."""

import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from ...protocol.errors import DiskFault

Buffer = bytes | bytearray | memoryview  # of single bytes


class OpenFile:
    """A descriptor, closed when the last reference to this object is gone. `report` makes a DiskFault of an OSError."""

    __slots__ = ("__weakref__", "_report", "fd", "path")

    def __init__(self, fd: int, path: str, report: Callable[[str, OSError, str], DiskFault]) -> None:
        self.fd = fd
        self.path = path
        self._report = report

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self.fd)

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the end of the file.

        Raises: DiskFault.
        """
        try:
            return os.pread(self.fd, size, position)
        except OSError as error:
            raise self.report_read_failure(error, size, position) from error

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Reads from `position` into `buffer`; returns how many bytes, fewer than it holds only at the file's end.

        Raises: DiskFault.
        """
        try:
            return os.preadv(self.fd, [buffer], position)
        except OSError as error:
            raise self.report_read_failure(error, len(buffer), position) from error

    def report_read_failure(self, error: OSError, size: int, position: int) -> DiskFault:
        """Reports a failed read, also one through the bare descriptor, and returns the fault to raise."""
        return self._report(self.path, error, f"reading {size} bytes at {position}: ")


class FileAccess(Protocol):
    """The operations that a handle forwards to `Files`."""

    def open_and_keep(self, handle: "FileHandle", *, create: bool) -> OpenFile: ...
    def close(self, handle: "FileHandle") -> None: ...
    def read(self, handle: "FileHandle", size: int, position: int) -> bytes: ...
    def read_into(self, handle: "FileHandle", buffer: Buffer, position: int) -> int: ...
    def write(self, handle: "FileHandle", pieces: Sequence[Buffer], position: int) -> int: ...
    def truncate(self, handle: "FileHandle", size: int) -> None: ...
    def sync(self, handle: "FileHandle") -> None: ...
    def rename(self, old: str, new: str) -> None: ...


class ReadableFile(Protocol):
    """A source of batches to scan: a file, or an object of an object store."""

    path: str

    def read(self, size: int, position: int) -> bytes: ...
    def read_into(self, buffer: bytearray | memoryview, position: int) -> int: ...
    def close(self) -> None: ...


class FileHandle:
    """A file by name, opened when first used.

    `opened`: the open file, while it is kept. `was_used`: it was used since `Files` last looked for a descriptor to
    close.
    """

    __slots__ = ("_files", "_held_elsewhere", "opened", "path", "was_used")

    def __init__(self, files: FileAccess, path: str) -> None:
        self._files = files
        self.opened: OpenFile | None = None
        self._held_elsewhere: weakref.ref[OpenFile] | None = None
        self.path = path
        self.was_used = False

    def open(self) -> OpenFile:
        """The open file; hold it to keep the descriptor open.

        Raises: DiskFault when it cannot be opened.
        """
        opened = self.opened
        if opened is None:
            return self._files.open_and_keep(self, create=False)
        self.was_used = True
        return opened

    def open_or_create(self) -> OpenFile:
        """The open file, made if missing; only writers need it.

        Raises: DiskFault.
        """
        opened = self.opened
        if opened is None:
            return self._files.open_and_keep(self, create=True)
        self.was_used = True
        return opened

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the end of the file."""
        return self._files.read(self, size, position)

    def read_into(self, buffer: Buffer, position: int) -> int:
        """Reads from `position` into `buffer`; returns how many bytes."""
        return self._files.read_into(self, buffer, position)

    def write(self, pieces: Sequence[Buffer], position: int) -> int:
        """Writes all pieces one after the other at `position`; returns how many bytes.

        Raises: DiskFault, after which any part of the pieces may be in the file.
        """
        return self._files.write(self, pieces, position)

    def truncate(self, size: int) -> None:
        self._files.truncate(self, size)

    def sync(self) -> None:
        """Returns when all that was written is on the disk."""
        self._files.sync(self)

    def close(self) -> None:
        """Drops the descriptor, which stays open while others hold the `OpenFile`."""
        self._files.close(self)

    def rename(self, path: str) -> None:
        self._files.rename(self.path, path)
        self.path = path

    # `Files` calls these for the handles in its list of open files.

    def keep_open_file(self, opened: OpenFile) -> None:
        self.opened = opened
        self._held_elsewhere = None
        self.was_used = True

    def drop_open_file(self) -> None:
        if self.opened is not None:
            self._held_elsewhere = weakref.ref(self.opened)
            self.opened = None

    def open_file_in_use(self) -> OpenFile | None:
        if self.opened is not None:
            return self.opened
        return self._held_elsewhere() if self._held_elsewhere is not None else None
