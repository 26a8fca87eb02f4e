"""Finds logs whose folders somebody removed while the broker runs, and log directories that became unreadable."""

from collections.abc import Collection

from ...protocol.errors import DiskFault
from ..log.log import Log
from .log_manager import LogManager


def find_logs_without_folder(manager: LogManager) -> list[Log]:
    """The logs whose folder is missing now, and all logs of a directory that cannot be read.

    Logs that the broker itself is deleting may be among them.
    """
    known = list(manager.checkpoints.logs_by_directory())
    present = {path: _list_or_take_offline(manager, path) for path in manager.metadata_directories}
    return [
        log
        for directory, logs in known
        for log in logs.values()
        if not log.is_offline and log.directory.rpartition("/")[2] not in present[directory.path]
    ]


def _list_or_take_offline(manager: LogManager, path: str) -> Collection[str]:
    """The names in a log directory; if it cannot be read, takes it offline and returns none."""
    if path in manager.offline:
        return ()
    try:
        names = manager.files.names(path)
        if not names and not manager.files.is_directory(path):
            raise DiskFault(f"{path} is gone from the disk")
    except DiskFault as fault:
        manager.offline.take_offline(path, fault)
        return ()
    return names
