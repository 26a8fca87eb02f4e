"""The checkpoint files of all log directories: offsets of logs, each in the directory that the log is in.

Every writer raises DiskFault, once all is written that can be: a directory that fails does not keep the others from
theirs.
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
    """Reads and writes the files of `directories`, which it looks up at each call, as it does `logs`.

    `are_stale`: recovery points and log starts may name logs that were deleted.
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
        """Writes up to where each log is known to be on the disk."""
        self._write(RECOVERY_POINTS, recovery_points)

    def write_log_starts(self) -> None:
        """Writes where logs start that do not start with their first segment."""
        self._write(LOG_STARTS, log_starts_to_keep)

    def forget_gone_logs(self) -> dict[str, DiskFault]:
        """Writes the files without deleted logs, so that a new log of the same name does not inherit their offsets.

        Returns what went wrong, by directory. It syncs: call it in a worker, where there is one.
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
        """The high watermarks that were last written."""
        found: dict[TopicPartition, int] = {}
        for directory in self._directories:
            found |= directory.high_watermarks()
        return found

    def write_high_watermarks(self, marks: Mapping[TopicPartition, int]) -> None:
        """Writes these; a log that is not named has its end as such."""
        self._write(
            HIGH_WATERMARKS, lambda logs: {key: marks.get(key, log.log_end_offset) for key, log in logs.items()}
        )

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        """Up to where each log was cleaned, as last written."""
        found: dict[TopicPartition, int] = {}
        for directory, logs in self.logs_by_directory():
            found |= {key: offset for key, offset in directory.cleaner_offsets().items() if key in logs}
        return found

    def write_cleaner_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Writes up to where logs are clean."""
        self._write(CLEANER_OFFSETS, lambda logs: {key: offsets[key] for key in logs if key in offsets})

    def first_deletions(self) -> set[TopicPartition]:
        """The logs that `write_first_deletions` was given last."""
        return {
            key for directory, logs in self.logs_by_directory() for key in directory.first_deletions() if key in logs
        }

    def write_first_deletions(self, waiting: Collection[TopicPartition]) -> None:
        """Writes in which logs nothing was deleted yet since they were taken over."""
        self._write(
            FIRST_DELETIONS, lambda logs: {key: log.log_end_offset for key, log in logs.items() if key in waiting}
        )

    def _write(self, name: str, offsets_of: Callable[[Logs], Mapping[TopicPartition, int]]) -> None:
        for fault in self._try_to_write(name, offsets_of).values():
            raise fault

    def _try_to_write(
        self, name: str, offsets_of: Callable[[Logs], Mapping[TopicPartition, int]]
    ) -> dict[str, DiskFault]:
        """What went wrong, by directory."""
        faults = {}
        for directory, logs in self.logs_by_directory():
            if directory.path in self._offline:
                continue
            try:
                directory.write(name, offsets_of(logs))
            except DiskFault as fault:
                faults[directory.path] = fault
        return faults


def recovery_points(logs: Logs) -> dict[TopicPartition, int]:
    """Up to where each log is known to be on the disk."""
    return {key: log.recovery_point for key, log in logs.items()}


def log_starts_to_keep(logs: Logs) -> dict[TopicPartition, int]:
    """Where logs start that do not start with their first segment."""
    return {key: log.log_start_offset for key, log in logs.items() if log.starts_inside_segment}
