"""The logs of new partitions whose folders, and the `partition.metadata` in them, may not be on the disk yet.

A crash before they are synced leaves a folder without a topic id; the next start writes the topic's id into it.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..files.partition_metadata import rename_temporary_topic_id
from ..log.log import Log

MANY: Final = 32
"""From this number of logs on the whole file system is synced at once, instead of each file and folder."""


class NewLogs:
    """The logs that were created and whose folders are not synced yet."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._logs: dict[Log, None] = {}
        self._syncing = Lock()

    def __bool__(self) -> bool:
        return bool(self._logs)

    def add(self, log: Log) -> None:
        self._logs[log] = None

    def remove(self, log: Log) -> None:
        self._logs.pop(log, None)

    def prepare_sync(self) -> Callable[[], None]:
        """Returns a function, for a worker thread, that syncs the folders. It raises DiskFault, and after that the logs
        take no appends.

        Several such functions may run for one log: the first one syncs it, and all of them raise if that fails.
        """
        new = tuple(self._logs)

        def sync() -> None:
            with self._syncing:  # also since a deleted log may have had the name of a new one
                left = [log for log in new if log in self._logs]
                try:
                    self._sync_folders(left)
                except DiskFault as fault:
                    for log in left:
                        log.fault = log.fault or fault
                finally:
                    for log in left:
                        self.remove(log)
            for log in new:
                if log.fault is not None and not log.is_released:
                    raise log.fault

        return sync

    def _sync_folders(self, logs: Sequence[Log]) -> None:
        parents = {log.directory.rpartition("/")[0] for log in logs}
        sync = self._files.sync_directory
        if len(logs) >= MANY:
            sync = self._files.sync_file_system
            for path in parents:
                sync(path)
        for log in logs:
            self._sync_folder(log, sync=len(logs) < MANY)
        for path in parents:
            sync(path)

    def _sync_folder(self, log: Log, *, sync: bool) -> None:
        if log.is_released:  # it was deleted
            return
        try:
            if log.topic_id is not None:
                rename_temporary_topic_id(self._files, log.directory, sync=sync)
            elif sync:
                self._files.sync_directory(log.directory)
        except DiskFault:
            if not log.is_released:
                raise
