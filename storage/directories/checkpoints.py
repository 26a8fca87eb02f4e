"""The checkpoint files of all log directories; each holds offsets of the logs in its directory.

A `write_…` method writes the files of all directories that it can, and then raises the DiskFault of one that failed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ...protocol.errors import DiskFault
from ..files.checkpoint_file import (
    CLEANER_OFFSETS,
    FIRST_DELETIONS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    TopicPartition,
)
from ..log.log import Log
from .log_directory import LogDirectory
from .offline_directories import OfflineDirectories

Logs = Mapping[TopicPartition, Log]


class Checkpoints:
    """Reads and writes the checkpoints of `directories`; that list and `logs` may change between calls.

    `are_stale`: the files of recovery points and log starts may name logs that were deleted.
    """

    def __init__(self, directories: Sequence[LogDirectory], logs: Logs, offline: OfflineDirectories) -> None:
        self._directories, self._logs, self._offline = directories, logs, offline
        self.are_stale = False

    def logs_by_directory(self) -> Iterator[tuple[LogDirectory, Logs]]:
        """Each directory with the logs in it."""
        for directory in self._directories:
            start = directory.path + "/"
            logs = dict(self._logs)  # in one step: they may change in another thread
            yield directory, {key: log for key, log in logs.items() if log.directory.startswith(start)}

    def write_recovery_points(self) -> None:
        """Writes the recovery point of each log: up to there it is on the disk."""
        self._write(RECOVERY_POINTS, recovery_points)

    def write_log_starts(self) -> None:
        """Writes the start offsets of logs that start inside their first segment."""
        self._write(LOG_STARTS, log_starts_to_keep)

    def write_without_deleted_logs(self) -> dict[str, DiskFault]:
        """Writes recovery points and log starts if they may name deleted logs, so that a new log of the same name does
        not inherit their offsets.

        Returns the faults by directory. It syncs, so call it in a worker thread if there is one.
        """
        if not self.are_stale:
            return {}
        self.are_stale = False  # a log may be deleted while a worker writes
        faults = self._try_to_write(RECOVERY_POINTS, recovery_points) | self._try_to_write(
            LOG_STARTS, log_starts_to_keep
        )
        self.are_stale |= bool(faults)
        return faults

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """Reads the high watermarks that were last written."""
        found: dict[TopicPartition, int] = {}
        for directory in self._directories:
            found |= directory.high_watermarks()
        return found

    def write_high_watermarks(self, marks: Mapping[TopicPartition, int]) -> None:
        """Writes these high watermarks, and the log end offset for a log that is not in `marks`."""
        self._write(
            HIGH_WATERMARKS, lambda logs: {key: marks.get(key, log.log_end_offset) for key, log in logs.items()}
        )

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """Reads the offset up to which each log was cleaned, as last written."""
        found: dict[TopicPartition, int] = {}
        for directory, logs in self.logs_by_directory():
            found |= {key: offset for key, offset in directory.cleaner_offsets().items() if key in logs}
        return found

    def write_cleaner_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Writes the offsets up to which logs are clean."""
        self._write(CLEANER_OFFSETS, lambda logs: {key: offsets[key] for key in logs if key in offsets})

    def read_partitions_awaiting_first_deletion(self) -> set[TopicPartition]:
        """Reads the logs that `write_partitions_awaiting_first_deletion` has written last."""
        return {
            key
            for directory, logs in self.logs_by_directory()
            for key in directory.read_partitions_awaiting_first_deletion()
            if key in logs
        }

    def write_partitions_awaiting_first_deletion(self, waiting: Collection[TopicPartition]) -> None:
        """Writes the logs that were taken over and in which nothing was deleted since."""
        self._write(
            FIRST_DELETIONS, lambda logs: {key: log.log_end_offset for key, log in logs.items() if key in waiting}
        )

    def _write(self, name: str, offsets_of: Callable[[Logs], Mapping[TopicPartition, int]]) -> None:
        for fault in self._try_to_write(name, offsets_of).values():
            raise fault

    def _try_to_write(
        self, name: str, offsets_of: Callable[[Logs], Mapping[TopicPartition, int]]
    ) -> dict[str, DiskFault]:
        """Returns the faults by directory."""
        faults = {}
        for directory, logs in self.logs_by_directory():
            if directory.path in self._offline:
                continue
            try:
                directory.write_checkpoint(name, offsets_of(logs))
            except DiskFault as fault:
                faults[directory.path] = fault
        return faults


def recovery_points(logs: Logs) -> dict[TopicPartition, int]:
    """The offset up to which each log is on the disk."""
    return {key: log.recovery_point for key, log in logs.items()}


def log_starts_to_keep(logs: Logs) -> dict[TopicPartition, int]:
    """The start offsets of logs that start inside their first segment."""
    return {key: log.log_start_offset for key, log in logs.items() if log.starts_inside_segment}
