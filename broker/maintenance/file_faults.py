"""Says in the log what is wrong with a single file or with this process: access denied, no descriptors left.

Requests may meet the same fault a thousand times a second. It is said once a minute, with how often it came since.
A disk that fails is said by `storage/directories/offline_directories.py`; a file that is gone, by who misses it.
"""

import errno
import logging
from typing import Final

from ...network.clock import Clock
from ...network.log_line_limit import LogLineLimit, repetition_text
from ...protocol.errors import DiskFault
from ...storage.files.files import DISK_FAILURES, NO_DESCRIPTORS, Files, errno_of

EXPECTED: Final = DISK_FAILURES | {errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, 0}

log = logging.getLogger(__name__)


class FileFaults:
    """Listens to the faults of `files`."""

    def __init__(self, clock: Clock, files: Files) -> None:
        self._lines = LogLineLimit(clock)
        files.on_fault.append(self.note)

    def note(self, path: str, fault: DiskFault) -> None:
        """Says it if it is time to. May be called from any thread."""
        number = errno_of(fault)
        if number in EXPECTED:
            return
        more = self._lines.try_to_log(number if number in NO_DESCRIPTORS else (number, path))
        if more is not None:
            log.error("a file cannot be used%s: %s", repetition_text(more), fault)
