"""The logs of new partitions whose folders may not be on the disk yet, and have no `partition.metadata`.

A crash before that leaves a folder without a topic id, which gets the topic's at the next start.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..files.partition_metadata import rename_temporary_topic_id
from ..log.log import Log

MANY: Final = 32
"""From this number of logs on the file system is synced as a whole; of fewer, each file and folder is."""


class NewLogs:
    """Logs from when they are made until their folders are on the disk."""

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
        """What puts the folders on the disk, for a worker. It raises DiskFault; the logs take no appends then.

        Several may wait at once for one log: the first has it synced, and all of them fail if that fails.
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
