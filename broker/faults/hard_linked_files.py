"""The files of a broker in a test: hard links to a template's files, copied before the first change; never synced."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress

from ...protocol.errors import DiskFault
from ...storage.files.file_handle import Buffer, FileHandle
from .disk_faults import FaultyDisk

OWN = ".own"


class HardLinkedFiles(FaultyDisk):
    """Files that are never synced: a test's machine does not lose its power, and a broker starts in 2 ms, not in 15.

    A log directory may consist of hard links to a template's files. Each is copied before the first change, so that
    the template stays as it is.
    """

    def write(self, handle: FileHandle, pieces: Sequence[Buffer], position: int) -> int:
        self._replace_link_by_copy(handle)
        return super().write(handle, pieces, position)

    def truncate(self, handle: FileHandle, size: int) -> None:
        self._replace_link_by_copy(handle)
        super().truncate(handle, size)

    def allocate(self, handle: FileHandle, size: int) -> None:
        self._replace_link_by_copy(handle)
        super().allocate(handle, size)

    def create(self, path: str, data: bytes = b"") -> None:
        self.remove(path)
        super().create(path, data)

    def set_mtime_ms(self, path: str, time_ms: int) -> None:
        own = self.handle(path)
        self._replace_link_by_copy(own)
        own.close()
        super().set_mtime_ms(path, time_ms)

    def sync(self, handle: FileHandle) -> None:
        pass

    def sync_directory(self, path: str) -> None:
        pass

    def sync_file_system(self, path: str) -> None:
        pass

    def _replace_link_by_copy(self, handle: FileHandle) -> None:
        """Raises: DiskFault."""
        opened = handle.open_or_create()
        if os.fstat(opened.fd).st_nlink == 1:
            return
        try:
            shutil.copy2(handle.path, handle.path + OWN)
            os.replace(handle.path + OWN, handle.path)
        except OSError as fault:
            raise DiskFault(f"{handle.path}: {fault.strerror or fault}") from fault
        self.close(handle)


def link_directory(template: str, target: str) -> None:
    """Makes `target` of hard links to what is in `template`, or of copies where it lies on another file system.

    Raises: OSError.
    """
    for folder, _, names in os.walk(template):
        made = os.path.join(target, os.path.relpath(folder, template))
        os.makedirs(made, exist_ok=True)
        for name in names:
            source = os.path.join(folder, name)
            if name == ".lock":
                continue
            with suppress(FileNotFoundError):
                try:
                    os.link(source, os.path.join(made, name))
                except OSError:
                    shutil.copy2(source, os.path.join(made, name))
