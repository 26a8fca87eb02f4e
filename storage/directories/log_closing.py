"""Closes the logs of a directory: writes data, indexes and producer snapshots, then syncs them."""

import logging
from collections.abc import Collection

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..log.log import Log
from .new_logs import MANY

_logger = logging.getLogger(__name__)


def close_logs(files: Files, directory: str, logs: Collection[Log]) -> bool:
    """Closes the logs and returns whether all of them are on the disk; logs an error for each that is not.

    From `MANY` logs on it syncs the whole file system once: with seven syncs a log, a thousand logs would need more
    than the 10 s that `docker stop` grants.
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
