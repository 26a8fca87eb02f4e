"""The logs of new partitions whose folders may not be on the disk yet, and have no `partition.metadata`.

A crash before that leaves a folder without a topic id, which gets the topic's at the next start.
"""

from collections.abc import Callable
from threading import Lock

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..files.partition_metadata import keep_topic_id
from ..log.log import Log


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
        """What puts the folders on the disk, for a worker. It raises DiskFault; the logs take no appends then."""
        new = tuple(self._logs)

        def sync() -> None:
            try:
                with self._syncing:  # a deleted log may have had the name of a new one
                    for log in new:
                        self._complete(log)
                for path in {log.directory.rpartition("/")[0] for log in new}:
                    self._files.sync_directory(path)
            except DiskFault as fault:
                for log in new:
                    log.fault = log.fault or fault
                raise
            finally:
                for log in new:
                    self.remove(log)

        return sync

    def _complete(self, log: Log) -> None:
        if log.is_released:  # it was deleted
            return
        try:
            if log.topic_id is not None:
                keep_topic_id(self._files, log.directory)
            else:
                self._files.sync_directory(log.directory)
        except DiskFault:
            if not log.is_released:
                raise
