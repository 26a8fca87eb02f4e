"""Files that were renamed for deletion, and are removed after `file.delete.delay.ms`, when no reader needs them."""

import heapq
import logging
from collections.abc import Sequence

from ...protocol.errors import DiskFault
from ..files.file_names import DELETED
from ..files.files import Files
from .segment import Segment

_logger = logging.getLogger(__name__)


class PendingDeletions:
    """The paths to be removed, earliest first. Times are those of `Clock.monotonic_ms`."""

    __slots__ = ("_due", "_files", "_number")

    def __init__(self, files: Files) -> None:
        self._files = files
        self._due: list[tuple[int, int, str, bool]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._due)

    def add_file(self, path: str, due_ms: int) -> None:
        self._add(path, due_ms, is_directory=False)

    def add_directory(self, path: str, due_ms: int) -> None:
        self._add(path, due_ms, is_directory=True)

    def _add(self, path: str, due_ms: int, *, is_directory: bool) -> None:
        self._number += 1
        heapq.heappush(self._due, (due_ms, self._number, path, is_directory))

    def rename_and_add_segments(self, segments: Sequence[Segment], due_ms: int) -> None:
        """Renames the files of these segments to `*.deleted` and adds them.

        Slices that are being sent keep their files open.
        """
        for segment in segments:
            segment.close()
            for path in segment.existing_files():
                self._files.rename(path, path + DELETED)
                self.add_file(path + DELETED, due_ms)

    def delete_due(self, now_ms: int) -> int:
        """Removes the paths that are due, and returns how many; one that cannot be removed is logged and dropped."""
        removed = 0
        while self._due and self._due[0][0] <= now_ms:
            _, _, path, is_directory = heapq.heappop(self._due)
            try:
                if is_directory:
                    self._files.remove_directory(path)
                else:
                    self._files.remove(path)
                removed += 1
            except DiskFault as fault:
                _logger.warning("cannot be deleted: %s", fault)
        return removed
