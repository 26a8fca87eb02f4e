"""Closing the logs of a directory: data, indexes, producer snapshots, then the wait for the disk."""

import logging
from collections.abc import Collection

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..log.log import Log
from .new_logs import MANY

_logger = logging.getLogger(__name__)


def close_logs(files: Files, directory: str, logs: Collection[Log]) -> bool:
    """Whether all of them are on the disk; each that is not has a line in the log.

    Of `MANY` the file system is synced once: seven waits for each of a thousand logs last longer than the 10 s that
    `docker stop` grants.
    """
    sync_each = len(logs) < MANY
    closed = [log for log in logs if _close(log, sync=sync_each)]
    if not sync_each:
        try:
            files.sync_file_system(directory)
        except DiskFault as fault:
            _logger.error("the logs in %s could not be closed cleanly: %s", directory, fault)
            return False
        for log in closed:
            log.move_recovery_point_to_end()
    return len(closed) == len(logs)


def _close(log: Log, *, sync: bool) -> bool:
    try:
        log.close(sync=sync)
    except Exception as fault:  # the others are closed all the same
        trace = None if isinstance(fault, DiskFault) else fault
        _logger.error("%s could not be closed cleanly: %s", log.name, fault, exc_info=trace)
        return False
    return True
