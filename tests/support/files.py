"""A disk that misbehaves when told to: it fills up, fails to sync, stops halfway, forgets what was not synced."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from stepdown.storage.files.file_handle import Buffer, FileHandle
from stepdown.storage.files.file_names import LOG
from stepdown.storage.files.files import Files


def os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class Crash(BaseException):
    """The process ends here; nobody may catch it."""


class FaultyFiles(Files):
    """Real files. `fails_sync`: every sync is an error.

    `fails`: the error number with which "read", "write" or "sync" fails for files whose path has the text `broken`.
    `space_left`: bytes until the disk is full; cutting a file gives some back.
    `crash_in`: how many changes of the disk succeed before the process ends in the middle of the next one.
    `lose_power` leaves what a machine may find after its power went: synced bytes, and any part of the others.
    """

    def __init__(self, *, max_open: int = 64, seed: int = 0) -> None:
        super().__init__(max_open=max_open)
        self.space_left: int | None = None
        self.fails_sync = False
        self.fails_truncate = False
        self.broken = ""
        self.fails: dict[str, int] = {}
        self.crash_in: int | None = None
        self.syncs = 0
        self._random = Random(seed)
        self._durable: dict[str, bytes] = {}  # what is safe of files that have been written to

    def read(self, handle: FileHandle, size: int, position: int) -> bytes:
        self._maybe_fail("read", handle, f"reading {size} bytes at {position}: ")
        return super().read(handle, size, position)

    def read_into(self, handle: FileHandle, buffer: Buffer, position: int) -> int:
        self._maybe_fail("read", handle, f"reading {len(buffer)} bytes at {position}: ")
        return super().read_into(handle, buffer, position)

    def _maybe_fail(self, operation: str, handle: FileHandle, doing: str = "") -> None:
        if operation in self.fails and self.broken in handle.path:
            raise self.report(handle.path, os_error(self.fails[operation]), doing)

    def write(self, handle: FileHandle, pieces: list[Buffer], position: int) -> int:
        self._maybe_fail("write", handle, f"writing at {position}: ")
        self._touch(handle.path)
        data = b"".join(bytes(piece) for piece in pieces)
        if self._crashes():
            super().write(handle, [data[: self._random.randint(0, len(data))]], position)
            raise Crash
        if self.space_left is not None and len(data) > self.space_left:
            super().write(handle, [data[: self.space_left]], position)
            self.space_left = 0
            raise self.report(handle.path, os_error(errno.ENOSPC))
        if self.space_left is not None:
            self.space_left -= len(data)
        return super().write(handle, pieces, position)

    def truncate(self, handle: FileHandle, size: int) -> None:
        self._before_cutting(handle, size)
        super().truncate(handle, size)

    def sync(self, handle: FileHandle) -> None:
        self._maybe_crash()
        self._maybe_fail("sync", handle)
        if self.fails_sync:
            raise self.report(handle.path, os_error(errno.EIO))
        super().sync(handle)
        self.syncs += 1
        self._durable.pop(handle.path, None)

    def sync_file_system(self, path: str) -> None:
        self._maybe_crash()
        if self.fails_sync:
            raise self.report(path, os_error(errno.EIO))
        super().sync_file_system(path)
        self.syncs += 1
        self._durable.clear()

    def create(self, path: str, data: bytes = b"") -> None:
        self._maybe_crash()
        self._durable.pop(path, None)
        super().create(path, data)
        self._durable[path] = b""

    def rename(self, old: str, new: str) -> None:
        self._maybe_crash()
        super().rename(old, new)
        for path in [path for path in self._durable if path.startswith(f"{old}/")]:
            self._durable[new + path.removeprefix(old)] = self._durable.pop(path)
        if old in self._durable:
            self._durable[new] = self._durable.pop(old)
        else:
            self._durable.pop(new, None)

    def remove(self, path: str) -> bool:
        self._maybe_crash()
        self._durable.pop(path, None)
        return super().remove(path)

    def lose_power(self) -> None:
        """Cut files that were not synced back to a state the disk may be found in."""
        for path, durable in self._durable.items():
            file = Path(path)
            if not file.exists():
                continue
            written = file.read_bytes()
            if written.startswith(durable):
                keep = self._random.randint(len(durable), len(written))
                lost = bytes(self._random.randint(0, min(64, len(written) - keep)))
                file.write_bytes(written[:keep] + lost)  # a block that was allocated but not written reads as zeros
            elif self._random.random() < 0.5:
                file.write_bytes(durable)
        self._durable.clear()

    def _before_cutting(self, handle: FileHandle, size: int) -> None:
        self._touch(handle.path)
        self._maybe_crash()
        if self.fails_truncate:
            raise self.report(handle.path, os_error(errno.EIO))
        if self.space_left is not None:
            self.space_left += max(0, Path(handle.path).stat().st_size - size)

    def _touch(self, path: str) -> None:
        if path not in self._durable:
            file = Path(path)
            self._durable[path] = file.read_bytes() if file.exists() else b""

    def _crashes(self) -> bool:
        if self.crash_in is None:
            return False
        self.crash_in -= 1
        return self.crash_in < 0

    def _maybe_crash(self) -> None:
        if self._crashes():
            raise Crash


class BusyFiles(Files):
    """Something happens before each read of a log whose number is a multiple of `every`, or before the first such."""

    def __init__(self, happens: Callable[[], object], every: int, *, once: bool = False) -> None:
        super().__init__(read_only=True)
        self._happens, self._every, self._once = happens, every, once
        self._reads = 0

    def read(self, handle: FileHandle, size: int, position: int) -> bytes:
        if handle.path.endswith(LOG):
            self._reads += 1
            if self._reads % self._every == 0 and (self._reads == self._every or not self._once):
                self._happens()
        return super().read(handle, size, position)


def flip_bit(path: Path, bit: int) -> None:
    """Change one bit of the file, counted from its start."""
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
