"""All log directories of a broker and the logs in them.

At the start it locks the directories, reads their identity and marks, and opens every log; it recovers the logs of a
directory without the mark of a clean stop. At the end it flushes and closes every log, then writes the checkpoints,
then the marks. In between the broker's timers trigger flushes, checkpoints and deletions.

Source: Kafka 3.9 `LogManager`, `MetaPropertiesEnsemble`.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...protocol.plural import plural
from ..files.checkpoint_file import LOG_STARTS, RECOVERY_POINTS, TopicPartition
from ..files.clock import Clock
from ..files.file_names import (
    DELETE_DIRECTORY,
    METADATA_FOLDER,
    LogFolderName,
    log_delete_dir_name,
    log_dir_name,
    log_stray_dir_name,
)
from ..files.files import DISK_FAILURES, NO_DESCRIPTORS, Files, errno_of
from ..files.partition_metadata import read_topic_id, write_temporary_topic_id
from ..log.delayed_deletion import PendingDeletions
from ..log.log import Log
from ..log.log_config import LogConfig
from ..recovery.log_loading import DEFAULT_PRODUCER_EXPIRATION_MS, LogOpening, open_log
from .broker_identity import BrokerIdentity, agree_on_identity, identity_from_settings, mark_directory, new_directories
from .checkpoints import Checkpoints, log_starts_to_keep, recovery_points
from .directory_check import NotALogDirectory
from .log_closing import close_logs
from .log_directory import DirectoryInUse, LogDirectory
from .log_move import LogMove, was_moved_away
from .new_logs import NewLogs
from .offline_directories import OfflineDirectories
from .stray_folders import warn_of_stray

if TYPE_CHECKING:
    from ...config.settings import BrokerSettings

_logger = logging.getLogger(__name__)


class LogManager:
    """The logs of one broker by (topic, partition), in `directories`: absolute paths, in the order given."""

    def __init__(
        self,
        directories: Sequence[str],
        files: Files,
        clock: Clock,
        default_config: LogConfig | None = None,
        *,
        identity: BrokerIdentity | None = None,
        metadata_directory: str | None = None,
        producer_expiration_ms: int = DEFAULT_PRODUCER_EXPIRATION_MS,
    ) -> None:
        """Locks the directories and opens all logs in them; `metadata_directory` holds the metadata log only.

        Raises: DiskFault when a directory is in use, belongs to another node or cluster, or cannot be read.
        """
        self.files = files
        self.clock = clock
        self.default_config = default_config or LogConfig()
        self.producer_expiration_ms = producer_expiration_ms
        self.deletions = PendingDeletions(files)
        self.logs: dict[TopicPartition, Log] = {}
        self._duplicates: list[tuple[TopicPartition, str]] = []
        self._rolled: dict[Log, None] = {}
        self.new_logs = NewLogs(files)
        self._directories: list[LogDirectory] = []
        self._of_metadata: list[LogDirectory] = []
        self.offline = OfflineDirectories()
        self.checkpoints = Checkpoints(self._directories, self.logs, self.offline)
        self.unusable: dict[TopicPartition, DiskFault] = {}
        """The logs that could not be opened, in directories that are online."""
        try:
            self._lock_all(dict.fromkeys(files.absolute(path) for path in directories))
            if metadata_directory is not None:
                self._lock_metadata(files.absolute(metadata_directory))
            self._metadata_home = self._find_metadata_directory()
            self._new = new_directories(self._all_directories())
            self.identity = agree_on_identity(files, self._all_directories(), identity or BrokerIdentity())
            for directory in self._directories:
                self._open_logs_or_take_offline(directory)
        except BaseException:
            self._release()
            raise
        watched = [directory.path for directory in self._all_directories()]
        files.on_fault.append(partial(self.offline.take_offline_on_disk_fault, watched))

    @classmethod
    def open_all(cls, settings: "BrokerSettings", files: Files, clock: Clock) -> "LogManager":
        """Opens the directories that the broker's settings name. Raises: DiskFault, as `__init__`."""
        wanted = identity_from_settings(settings)
        return cls(
            settings.log_dirs,
            files,
            clock,
            identity=wanted,
            metadata_directory=settings.metadata_log_dir,
            producer_expiration_ms=settings.producer_id_expiration_ms,
        )

    @property
    def directories(self) -> list[str]:
        """The directories that were usable at the start."""
        return [directory.path for directory in self._directories]

    @property
    def metadata_directories(self) -> list[str]:
        """The directories that may hold the metadata log; a new one is made in the first."""
        own = [directory.path for directory in self._of_metadata]
        return own + [path for path in self.directories if path not in own]

    @property
    def cluster_id(self) -> str:
        assert self.identity.cluster_id is not None
        return self.identity.cluster_id

    def was_clean(self, path: str) -> bool:
        """Whether the directory that holds `path` was stopped cleanly."""
        return self._directory_of(path).was_clean

    def directory_id(self, path: str) -> UUID | None:
        """The id of the directory that holds `path`."""
        meta = self._directory_of(path).meta
        return meta.directory_id if meta is not None else None

    @property
    def sole_directory_id(self) -> UUID | None:
        """The id of the only directory; None where there are several."""
        meta = self._directories[0].meta
        return meta.directory_id if len(self._directories) == 1 and meta is not None else None

    @property
    def reason_to_halt(self) -> str | None:
        """Why the broker has to halt, or None. As in Kafka it halts without the metadata log or any log directory."""
        fault = self.offline.get(self._metadata_home)
        if fault is not None:
            return f"the log directory with the state of the cluster is offline: {fault}"
        faults = [self.offline.get(path) for path in self.directories]
        return f"all log directories are offline: {faults[0]}" if all(faults) else None

    @property
    def new_directories(self) -> list[str]:
        """Paths that no broker has used yet, beside used ones: new disks, or mount points without their disk."""
        return [directory.path for directory in self._new]

    def accept_new_directories(self) -> None:
        """Writes this broker's identity into the new directories. Raises: DiskFault."""
        for directory in self._new:
            mark_directory(self.files, directory, self.identity)
        self._new = []

    # Opening

    def _lock_all(self, paths: Iterable[str]) -> None:
        """Locks the directories. Those after the first that cannot be used are taken offline (KIP-112).

        Raises: DiskFault when one is in use by another broker or no log directory, or the first one cannot be used.
        """
        for path in paths:
            try:
                self._directories.append(LogDirectory(self.files, path))
            except (DirectoryInUse, NotALogDirectory):
                raise
            except DiskFault as fault:
                if not self._directories:
                    raise  # the first one has the metadata: Kafka does not start without it either
                self.offline.take_offline(path, fault)

    def _all_directories(self) -> list[LogDirectory]:
        return list(dict.fromkeys([*self._directories, *self._of_metadata]))

    def _lock_metadata(self, path: str) -> None:
        known = [directory for directory in self._directories if directory.path == path]
        self._of_metadata = known or [LogDirectory(self.files, path)]

    def _find_metadata_directory(self) -> str:
        """The directory of the metadata log, which may have to be made."""
        places = self.metadata_directories
        return next((path for path in places if self.files.is_directory(f"{path}/{METADATA_FOLDER}")), places[0])

    def _open_logs_or_take_offline(self, directory: LogDirectory) -> None:
        """Opens the logs of a directory; if its disk fails, the directory goes offline instead.

        Raises: DiskFault when the logs contradict each other, or the disk with the metadata fails.
        """
        before = dict(self.logs)
        try:
            self._open_logs(directory)
        except DiskFault as fault:
            if directory.path == self._metadata_home or errno_of(fault) not in DISK_FAILURES:
                raise
            for key in self.logs.keys() - before.keys():
                self.logs.pop(key).release()
            self.offline.take_offline(directory.path, fault)

    def _open_logs(self, directory: LogDirectory) -> None:
        directory.take_clean_mark()
        recovery_points, starts = directory.recovery_points(), directory.log_starts()
        folders = list(directory.log_folders())
        if folders and not directory.was_clean:
            _logger.info("%s was not closed cleanly: %s to recover", directory.path, plural(len(folders), "log"))
        for path, name in folders:
            key = name.topic, name.partition
            if name.suffix:
                self._delete_or_skip_folder(path, name)
                continue
            if key in self.logs and not self._resolve_interrupted_move(self.logs[key], path):
                continue
            opening = self._make_log_opening(directory.was_clean, starts.get(key, 0), recovery_points.get(key, 0))
            self._open_log_or_mark_unusable(path, key, opening)
        self.checkpoints.are_stale |= not self.logs.keys() >= starts.keys() | recovery_points.keys()

    def _open_log_or_mark_unusable(self, path: str, key: TopicPartition, opening: LogOpening) -> None:
        """Opens one log. If one of its files cannot be opened, only this partition goes offline.

        Raises: DiskFault when the disk fails, or the contents contradict each other.
        """
        try:
            self.logs[key] = open_log(path, *key, self.default_config, opening)
        except DiskFault as fault:
            if errno_of(fault) in DISK_FAILURES | NO_DESCRIPTORS | {0}:
                raise
            self.unusable[key] = fault
            _logger.error("%s-%d is offline until the broker is started again: %s", *key, fault)

    def _resolve_interrupted_move(self, opened: Log, path: str) -> bool:
        """Finds which of two folders of one partition to serve, after a crash at the end of a move.

        Returns whether to open the one in `path`; the already opened one is then closed and renamed for deletion.
        Raises: DiskFault when neither was moved to the other, and both have the same topic id.
        """
        if was_moved_away(self.files, path):
            self._rename_for_deletion(path, opened.topic, opened.partition)
            return False
        if not was_moved_away(self.files, opened.directory):
            if read_topic_id(self.files, path) == opened.topic_id:
                raise DiskFault(f"{opened.name} is in two places: {opened.directory} and {path}")
            self._duplicates.append(((opened.topic, opened.partition), path))
            return False
        opened.release()
        del self.logs[opened.topic, opened.partition]
        self._rename_for_deletion(opened.directory, opened.topic, opened.partition)
        return True

    def resolve_duplicates(self, topic_ids: Mapping[str, UUID]) -> None:
        """Of several folders of one partition with different topic ids, serves the one whose id is in `topic_ids`.

        The others are renamed to `-stray`. Raises: DiskFault when `topic_ids` is empty.
        """
        for key, path in self._duplicates:
            opened = self.logs.get(key)
            if opened is None:  # its directory went offline
                continue
            topic_id, wanted = read_topic_id(self.files, path), topic_ids.get(key[0])
            if not topic_ids:
                raise DiskFault(
                    f"{opened.name} is in two places, of two topics with that name: {opened.directory} and {path}. "
                    "There are no metadata that say which one counts: move the other away"
                )
            if topic_id is None or topic_id != wanted or opened.topic_id == wanted:
                self._rename_as_stray(path, key, topic_id)
            else:
                self.set_aside_as_stray(opened)
                self._open_duplicate(path, key)
        self._duplicates.clear()

    def _open_duplicate(self, path: str, key: TopicPartition) -> None:
        directory = self._directory_of(path)
        starts, recovery_points = directory.log_starts(), directory.recovery_points()
        opening = self._make_log_opening(directory.was_clean, starts.get(key, 0), recovery_points.get(key, 0))
        self._open_log_or_mark_unusable(path, key, opening)

    def _rename_for_deletion(self, path: str, topic: str, partition: int) -> None:
        """Renames a log's folder to `-delete`; it is removed after `file.delete.delay.ms`."""
        target = f"{self._directory_of(path).path}/{log_delete_dir_name(topic, partition, uuid4().hex)}"
        self.files.rename(path, target)
        self.deletions.add_directory(target, self.clock.monotonic_ms() + self.default_config.file_delete_delay_ms)

    def _delete_or_skip_folder(self, path: str, name: LogFolderName) -> None:
        if name.suffix == DELETE_DIRECTORY:
            self.deletions.add_directory(path, self.clock.monotonic_ms() + self.default_config.file_delete_delay_ms)
        else:
            _logger.warning("%s is not served: it is a %s log", path, name.suffix.removeprefix("-"))

    def _make_log_opening(self, clean: bool, log_start_offset: int = 0, recovery_point: int = 0) -> LogOpening:
        return LogOpening(
            files=self.files,
            clock=self.clock,
            deletions=self.deletions,
            clean=clean,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            producer_expiration_ms=self.producer_expiration_ms,
            rolled=self._note_roll,
        )

    def _note_roll(self, log: Log) -> None:
        self._rolled[log] = None

    def _forget(self, log: Log) -> None:
        self._rolled.pop(log, None)
        self.new_logs.remove(log)

    # Making and deleting logs

    def create(self, topic: str, partition: int, topic_id: UUID | None, config: LogConfig | None = None) -> Log:
        """Makes a new, empty log in the directory with the fewest logs, if possible one that does not fail.

        Its folder is on the disk, with the topic id, once the function of `new_logs.prepare_sync` has returned.

        Raises: ApiError TOPIC_ALREADY_EXISTS, DiskFault.
        """
        key = topic, partition
        if key in self.logs:
            raise ApiError(f"the log {topic}-{partition} exists", ErrorCode.TOPIC_ALREADY_EXISTS)
        directory = self._emptiest_directory()
        fault = self.checkpoints.write_without_deleted_logs().get(directory.path)
        if fault is not None:
            raise fault
        path = f"{directory.path}/{log_dir_name(topic, partition)}"
        if self.files.is_directory(path):  # its records are not to be the new log's
            raise DiskFault(f"{path} is in the way of a new partition: it could not be removed when it was deleted")
        try:
            self.logs[key] = self._create_log(path, key, topic_id, config or self.default_config)
        except DiskFault:
            with suppress(DiskFault):  # or it would be in the way of the next try
                self.files.remove_directory(path)
            raise
        self.new_logs.add(self.logs[key])
        return self.logs[key]

    def _create_log(self, path: str, key: TopicPartition, topic_id: UUID | None, config: LogConfig) -> Log:
        self.files.make_directory(path)
        log = open_log(path, *key, config, self._make_log_opening(clean=True))
        if topic_id is not None:
            write_temporary_topic_id(self.files, path, topic_id)
            log.topic_id = topic_id
        return log

    def _emptiest_directory(self) -> LogDirectory:
        if len(self._directories) == 1 and not self.offline:
            return self._directories[0]
        counts = {directory.path: 0 for directory in self._directories}
        for log in self.logs.values():
            counts[self._directory_of(log.directory).path] += 1
        failing = self.failing_directories()
        chosen = min(self._directories, key=lambda each: (each.path in failing, counts[each.path]))
        if chosen.path in self.offline:
            raise DiskFault(f"no log directory is online: {self.offline[chosen.path]}")
        return chosen

    def failing_directories(self) -> set[str]:
        """The directories that are offline, or in which writing or syncing a log has failed.

        A log that is offline, because somebody removed its folder, does not count.
        """
        return {each for each in self.directory_of_each_failed_log() if each is not None}

    def directory_of_each_failed_log(self) -> Iterator[str | None]:
        """Yields for each log its directory if it has failed, else None; then the directories that are offline."""
        for log in tuple(self.logs.values()):
            has_failed = log.fault is not None and not log.is_offline
            yield self._directory_of(log.directory).path if has_failed else None
        yield from self.offline

    def take_offline_if_unusable(self, log: Log) -> bool:
        """Takes the log offline if others removed its folder or its directory is offline; returns whether it did.

        A log that this broker itself deleted is left as it is.
        """
        is_ours = self.logs.get((log.topic, log.partition)) is log
        fault = self.offline.get(self._directory_of(log.directory).path)
        if not is_ours or (fault is None and self.files.is_directory(log.directory)):
            return False
        log.take_offline(fault or DiskFault(f"{log.directory} is gone from the disk"))
        self._forget(log)
        return True

    def delete(self, topic: str, partition: int, reason: str = "the topic is deleted") -> None:
        """Renames the log's folder to `-delete`; it is removed after `file.delete.delay.ms`.

        Raises: ApiError UNKNOWN_TOPIC_OR_PARTITION, DiskFault.
        """
        log = self.logs.get((topic, partition))
        if log is None:
            raise ApiError(f"no log {topic}-{partition}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        parent = self._directory_of(log.directory).path
        target = f"{parent}/{log_delete_dir_name(topic, partition, uuid4().hex)}"
        offsets = f"offsets {log.log_start_offset} to {log.log_end_offset - 1}, {log.segments.size_bytes} bytes"
        _logger.info("%s: deletes all of it, %s: %s", log.name, offsets, reason)
        log.close_after_deletion()
        del self.logs[topic, partition]  # even if its folder stays: it is not to be in the way of a new topic
        self._forget(log)
        self.checkpoints.are_stale = True
        self.files.rename(log.directory, target)
        self.deletions.add_directory(target, self.clock.monotonic_ms() + log.config.file_delete_delay_ms)

    def set_aside_as_stray(self, log: Log, cause: str = "") -> None:
        """Renames the folder of a log that does not belong to this broker to `-stray`: it is kept, but not served.

        `cause` says why; "" means that the metadata do not know it.

        Raises: DiskFault.
        """
        self._rename_as_stray(log.directory, (log.topic, log.partition), log.topic_id, cause)
        log.close_after_deletion()
        del self.logs[log.topic, log.partition]
        self._forget(log)

    def _rename_as_stray(self, path: str, key: TopicPartition, topic_id: UUID | None, cause: str = "") -> None:
        target = f"{self._directory_of(path).path}/{log_stray_dir_name(*key, uuid4().hex)}"
        self.files.rename(path, target)
        self.checkpoints.are_stale = True
        warn_of_stray(path, target.rpartition("/")[2], key, topic_id, cause)

    def replace_with_moved_log(self, move: LogMove) -> Log:
        """Completes the move and returns the log in its new directory; the old folder is renamed for deletion.

        Nothing may be appended to the old log while this runs, nor afterwards.

        Raises: DiskFault, after which the old log is still served.
        """
        old = move.log
        path = move.copy_rest_and_rename()
        opening = self._make_log_opening(
            clean=True, log_start_offset=old.log_start_offset, recovery_point=old.log_end_offset
        )
        log = open_log(path, old.topic, old.partition, old.config, opening)
        log.producers.state = old.producers.state  # knows more batches of each producer than the snapshot
        self.logs[old.topic, old.partition] = log
        self._forget(old)
        old.release()
        try:
            self._rename_for_deletion(old.directory, old.topic, old.partition)
        except DiskFault as fault:
            _logger.warning("a log was moved, its old folder stays until the next start: %s", fault)
        self.checkpoints.write_log_starts()
        self.checkpoints.write_recovery_points()
        return log

    def _directory_of(self, path: str) -> LogDirectory:
        return next(
            directory
            for directory in self._directories
            if path == directory.path or path.rpartition("/")[0] == directory.path
        )

    # Called by timers

    def take_rolled_logs(self) -> list[Log]:
        """The logs that closed a segment since the last call; the caller runs their `plan_flush_of_closed_segments`."""
        rolled = list(self._rolled)
        self._rolled.clear()
        return rolled

    # Ending

    def shutdown(self) -> None:
        """Flushes and closes all logs, writes checkpoints and the marks of a clean stop, releases the locks.

        If something cannot be written in a directory, it gets no mark and is recovered at the next start.
        """
        with suppress(DiskFault):
            self.new_logs.prepare_sync()()
        for directory, logs in list(self.checkpoints.logs_by_directory()):
            if directory.path not in self.offline and self._close_all(directory, logs):
                with suppress(DiskFault):
                    directory.write_clean_mark()
        self._release()

    def abandon(self) -> None:
        """Releases all files and locks without writing anything, so that the next start recovers the logs."""
        self._release()

    def _close_all(self, directory: LogDirectory, logs: Mapping[TopicPartition, Log]) -> bool:
        """Closes the logs, writes their checkpoints, and returns whether all of it is on the disk."""
        complete = close_logs(self.files, directory.path, logs.values())
        try:
            directory.write_checkpoint(RECOVERY_POINTS, recovery_points(logs))
            directory.write_checkpoint(LOG_STARTS, log_starts_to_keep(logs))
        except DiskFault as fault:
            complete = False
            _logger.error("checkpoints could not be written: %s", fault)
        return complete

    def _release(self) -> None:
        for log in self.logs.values():
            log.release()
        for directory in self._all_directories():
            directory.release()
