"""The log directories that are offline, and why.

A directory goes offline, with all its partitions, when the operating system refuses to read, write or sync one of its
files and the reason is the disk: an I/O error, a full disk, a file system that became read-only (`DISK_FAILURES`).
As in Kafka, it stays so until the broker is started again. A fault of one file alone takes only its partition offline.

Source: KIP-112; Kafka 3.9 `LogDirFailureChannel`, `UnifiedLog.maybeHandleIOException`.
"""

import logging

from ...protocol.errors import DiskFault
from ..files.files import DISK_FAILURES, errno_of

_logger = logging.getLogger(__name__)


class OfflineDirectories(dict[str, DiskFault]):
    """The faults, by the path of the directory. `take_offline` may be called from any thread."""

    def take_offline(self, path: str, fault: DiskFault) -> None:
        """Adds the directory, and logs an error unless it was offline already."""
        if self.setdefault(path, fault) is fault:
            _logger.error(
                "the log directory %s is offline, with its partitions, until the broker is started again: %s",
                path,
                fault,
            )

    def take_offline_on_disk_fault(self, directories: list[str], path: str, fault: DiskFault) -> None:
        """Takes that one of `directories` offline which holds the file `path`, if its disk caused the fault."""
        if errno_of(fault) in DISK_FAILURES:
            for directory in directories:
                if path.startswith(f"{directory}/"):
                    self.take_offline(directory, fault)
