"""One log directory: its lock, its identity, its mark of a clean stop, and its checkpoints.

    .lock                     held while a broker uses the directory
    meta.properties           the node and cluster that the directory belongs to
    .kafka_cleanshutdown      written last at a clean stop, removed before logs are opened; only its existence counts

Source: Kafka 3.9 `LogManager`, `CleanShutdownFileHandler`.
"""

import logging
from collections.abc import Iterator, Mapping
from threading import Lock

from ...protocol.errors import DiskFault
from ..files.checkpoint_file import (
    CLEANER_OFFSETS,
    FIRST_DELETIONS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    MalformedCheckpoint,
    TopicPartition,
    read_offsets,
    write_offsets,
)
from ..files.file_lock import FileLock
from ..files.file_names import SKIPPED_DIRECTORIES, LogFolderName, parse_log_folder_name
from ..files.files import Files
from .directory_check import check_is_log_directory, warn_of_foreign_files
from .meta_properties import MetaProperties, read_meta_properties

LOCK = ".lock"
CLEAN_MARK = ".kafka_cleanshutdown"
_CLEAN_MARK_TEXT = b'{"version":0,"brokerEpoch":-1}'

_logger = logging.getLogger(__name__)


class DirectoryInUse(DiskFault):
    """Another broker has locked the directory."""


class CannotCreateDirectory(DiskFault):
    """The directory is missing, and cannot be created."""


def make_log_directory(files: Files, path: str) -> None:
    """Makes the directory if it is missing. Raises: CannotCreateDirectory."""
    try:
        files.make_directory(path)
    except DiskFault as fault:
        raise CannotCreateDirectory(f"cannot create the log directory {fault}") from fault


def check_no_broker_uses(files: Files, path: str) -> None:
    """Raises: DirectoryInUse, NotALogDirectory, DiskFault. Nothing is written; the directory may be missing."""
    if files.exists(path):
        path = files.absolute(path)
        check_is_log_directory(files, path)
        if files.exists(f"{path}/{LOCK}"):
            _lock(files, path).release()


def _lock(files: Files, path: str) -> FileLock:
    lock = files.lock(f"{path}/{LOCK}")
    if lock is None:
        raise DirectoryInUse(f"the log directory {path} is in use by another broker: its {LOCK} file is locked")
    return lock


class LogDirectory:
    """A log directory that this broker has locked. `was_clean`: whether it was stopped cleanly. `path` is absolute."""

    __slots__ = ("_files", "_lock", "_writing", "_written", "meta", "path", "was_clean")

    def __init__(self, files: Files, path: str) -> None:
        """Makes the directory if it is missing, and locks it.

        Raises: DiskFault; DirectoryInUse when another broker uses it; NotALogDirectory before anything is written.
        """
        self._files = files
        if files.exists(path):
            check_is_log_directory(files, files.absolute(path))
            warn_of_foreign_files(files, files.absolute(path))
        make_log_directory(files, path)
        self.path = files.absolute(path)
        self._lock = lock = _lock(files, self.path)
        self._writing = Lock()
        self._written: dict[str, Mapping[TopicPartition, int]] = {}
        self.was_clean = False
        self.meta: MetaProperties | None = None
        try:
            self.meta = read_meta_properties(files, self.path)
        except DiskFault:
            lock.release()
            raise

    def take_clean_mark(self) -> None:
        """Sets `was_clean` and removes the mark, so that the next start notices a crash."""
        self.was_clean = self._files.remove(f"{self.path}/{CLEAN_MARK}")
        if self.was_clean:
            self._files.sync_directory(self.path)

    def write_clean_mark(self) -> None:
        self._files.replace(f"{self.path}/{CLEAN_MARK}", _CLEAN_MARK_TEXT)

    def release(self) -> None:
        """Releases the lock."""
        self._lock.release()

    def log_folders(self) -> Iterator[tuple[str, LogFolderName]]:
        """Calls `log_folders` for this directory."""
        return log_folders(self._files, self.path)

    # Checkpoints

    def recovery_points(self) -> dict[TopicPartition, int]:
        return self._read_checkpoint(RECOVERY_POINTS)

    def log_starts(self) -> dict[TopicPartition, int]:
        return self._read_checkpoint(LOG_STARTS)

    def high_watermarks(self) -> dict[TopicPartition, int]:
        return self._read_checkpoint(HIGH_WATERMARKS)

    def cleaner_offsets(self) -> dict[TopicPartition, int]:
        return self._read_checkpoint(CLEANER_OFFSETS)

    def read_partitions_awaiting_first_deletion(self) -> dict[TopicPartition, int]:
        return self._read_checkpoint(FIRST_DELETIONS)

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(self._files, f"{self.path}/{name}")
        except MalformedCheckpoint as fault:
            _logger.warning("checkpoint ignored: %s", fault)
            return {}

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Replaces a checkpoint file, unless it was last written with the same offsets.

        Raises: DiskFault.
        """
        with self._writing:
            if self._written.get(name) != offsets:
                write_offsets(self._files, f"{self.path}/{name}", offsets)
                self._written[name] = dict(offsets)


def log_folders(files: Files, directory: str) -> Iterator[tuple[str, LogFolderName]]:
    """Yields the path and the parsed name of each log's folder.

    Raises: DiskFault for a folder that is not a log's; Kafka does not start then either.
    """
    for entry in files.entries(directory):
        if not entry.is_directory or entry.name in SKIPPED_DIRECTORIES:
            continue
        parsed = parse_log_folder_name(entry.name)
        if parsed is None:
            raise DiskFault(
                f"{directory}/{entry.name} is not the folder of a log: a name like topic-0 was expected; "
                "move it out of the log directory"
            )
        yield f"{directory}/{entry.name}", parsed
