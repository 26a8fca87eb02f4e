"""Folders of logs that somebody took away while the broker runs, and log directories that cannot be read any more."""

from collections.abc import Collection

from ...protocol.errors import DiskFault
from ..log.log import Log
from .log_manager import LogManager


def find_logs_without_folder(manager: LogManager) -> list[Log]:
    """The logs whose folder is missing from its log directory now; a log may be about to be deleted.

    All logs of a directory that cannot be read.
    """
    known = list(manager.checkpoints.logs_by_directory())
    present = {path: _list_folder(manager, path) for path in manager.metadata_directories}
    return [
        log
        for directory, logs in known
        for log in logs.values()
        if not log.is_offline and log.directory.rpartition("/")[2] not in present[directory.path]
    ]


def _list_folder(manager: LogManager, path: str) -> Collection[str]:
    """What is in a log directory; one that cannot be read is offline from now on, and shows nothing."""
    if path in manager.offline:
        return ()
    try:
        names = manager.files.names(path)
        if not names and not manager.files.is_directory(path):
            raise DiskFault(f"{path} is gone from the disk")
    except DiskFault as fault:
        manager.offline.note(path, fault)
        return ()
    return names
