"""The log directories that cannot be used any more, and why.

A directory goes offline, with all its partitions, when the operating system refuses to read, write or sync one of its
files and the reason is the disk: an I/O error, a full disk, a file system that became read-only (`DISK_FAILURES`).
As in Kafka, it stays so until the broker is started again. What is wrong with one file alone concerns its partition.

Source: KIP-112; Kafka 3.9 `LogDirFailureChannel`, `UnifiedLog.maybeHandleIOException`.
"""

import logging

from ...protocol.errors import DiskFault
from ..files.files import DISK_FAILURES, errno_of

_logger = logging.getLogger(__name__)


class OfflineDirectories(dict[str, DiskFault]):
    """What failed, by the path of the directory. `note` may be called from any thread."""

    def note(self, path: str, fault: DiskFault) -> None:
        """The directory is offline from now on; said once."""
        if self.setdefault(path, fault) is fault:
            _logger.error(
                "the log directory %s is offline, with its partitions, until the broker is started again: %s",
                path,
                fault,
            )

    def take_offline_on_disk_fault(self, directories: list[str], path: str, fault: DiskFault) -> None:
        """Note the directory that has the file `path`, if the fault is one of its disk."""
        if errno_of(fault) in DISK_FAILURES:
            for directory in directories:
                if path.startswith(f"{directory}/"):
                    self.note(directory, fault)
