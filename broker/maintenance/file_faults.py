"""Logs faults of a single file or of this process: access denied, no descriptors left.

Requests may meet the same fault a thousand times a second: it is logged once a minute, with the number of repetitions.
`storage/directories/offline_directories.py` logs a disk that fails; a missing file is logged by the code that needs it.
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
    """Logs each fault of `files`, at most once a minute."""

    def __init__(self, clock: Clock, files: Files) -> None:
        self._lines = LogLineLimit(clock)
        files.on_fault.append(self.note)

    def note(self, path: str, fault: DiskFault) -> None:
        """Logs the fault, if that is due. May be called from any thread."""
        number = errno_of(fault)
        if number in EXPECTED:
            return
        more = self._lines.try_to_log(number if number in NO_DESCRIPTORS else (number, path))
        if more is not None:
            log.error("a file cannot be used%s: %s", repetition_text(more), fault)
