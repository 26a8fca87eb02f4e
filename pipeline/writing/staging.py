"""Logs on their way into a log directory: written under names that are not yet a log's, then renamed as a whole.

    LOG_DIR/orders-0.<job, 24 hex><log, 8 hex>-delete/    being written, complete and synced when its task is done
    LOG_DIR/orders-0/                                     committed: one rename

The name is that of a log to be deleted, so brokers serve none of it and remove what a killed job has left as they
start. A partition's folder that has no records, as of a topic that was just made, is replaced; the topic's id in it is
kept. A kill between two renames leaves whole logs and staged ones, never a part of one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from ...storage.directories.log_directory import LogDirectory
from ...storage.files.checkpoint_file import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    MalformedCheckpoint,
    read_offsets,
    write_offsets,
)
from ...storage.files.clock import SystemClock
from ...storage.files.file_names import DELETE_DIRECTORY, LOG, log_delete_dir_name, log_dir_name
from ...storage.files.files import Files
from ...storage.files.partition_metadata import FILE_NAME as PARTITION_METADATA
from ...storage.log.delayed_deletion import PendingDeletions
from ...storage.log.log_config import FOREVER, LogConfig
from ...storage.recovery.log_loading import LogOpening, open_log
from ..failures import PipelineFailure

if TYPE_CHECKING:
    from ...storage.log.log import Log

_JOB_DIGITS = 24
_LOG_DIGITS = 8
_MAX_METADATA_BYTES = 1 << 16
_CHECKPOINTS = (LOG_STARTS, RECOVERY_POINTS, HIGH_WATERMARKS, CLEANER_OFFSETS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedLog:
    """A complete log in the folder `directory`, with offsets from `first_offset` to `end_offset` (open)."""

    topic: str
    partition: int
    directory: str
    records: int
    stored_bytes: int
    first_offset: int
    end_offset: int

    @property
    def has_holes(self) -> bool:
        """Whether rows left offsets out, which readers take for a loss unless compaction explains it."""
        return self.records < self.end_offset - self.first_offset

    @property
    def name(self) -> str:
        return log_dir_name(self.topic, self.partition)


def new_job_id() -> str:
    """A name that no other job has."""
    return uuid4().hex[:_JOB_DIGITS]


def _staging_name(topic: str, partition: int, job: str) -> str:
    """A name that no other log has, though that of a long topic is cut."""
    return log_delete_dir_name(topic, partition, job + uuid4().hex[:_LOG_DIGITS])


class Staging:
    """One task's staged logs in the log directory `path`."""

    def __init__(self, files: Files, path: str, job: str, *, segment_bytes: int) -> None:
        self._files = files
        self._path = path
        self._job = job
        self._config = LogConfig(segment_bytes=segment_bytes, segment_ms=FOREVER, retention_ms=-1)

    def open(self, topic: str, partition: int, first_offset: int) -> "Log":
        """An empty log that begins at `first_offset`. Raises: PipelineFailure where records are already; DiskFault."""
        check_no_records(self._files, f"{self._path}/{log_dir_name(topic, partition)}")
        directory = f"{self._path}/{_staging_name(topic, partition, self._job)}"
        self._files.make_directory(directory)
        opening = LogOpening(
            files=self._files,
            clock=SystemClock(),
            deletions=PendingDeletions(self._files),
            log_start_offset=first_offset,
        )
        return open_log(directory, topic, partition, self._config, opening)

    def complete(self, log: "Log", records: int, stored_bytes: int) -> StagedLog:
        """What is staged: all of it is on the disk. Raises: DiskFault."""
        first_offset, end_offset = log.log_start_offset, log.log_end_offset
        log.close()
        self._files.sync_directory(log.directory)
        return StagedLog(
            topic=log.topic,
            partition=log.partition,
            directory=log.directory,
            records=records,
            stored_bytes=stored_bytes,
            first_offset=first_offset,
            end_offset=end_offset,
        )


def check_no_records(files: Files, directory: str) -> None:
    """Raises: PipelineFailure when the partition's folder has a segment with something in it."""
    if not files.is_directory(directory):
        return
    if any(entry.name.endswith(LOG) and entry.size_bytes for entry in files.entries(directory)):
        raise PipelineFailure(f"{directory} has segments already; nothing is added to a log that is there")


def move_staged_into_place(files: Files, path: str, job: str, staged: Sequence[StagedLog]) -> None:
    """Make logs of all that is staged, and remove what other attempts of the job left.

    A failure takes back what was done so far.

    Raises: PipelineFailure when two tasks wrote one partition, or where records are already; DiskFault, also when a
    broker uses the directory.
    """
    _check_one_each(staged)
    directory = LogDirectory(files, path)
    try:
        for log in staged:
            check_no_records(files, f"{path}/{log.name}")
        is_new = not any(not name.suffix for _, name in directory.log_folders())
        _drop_from_checkpoints(files, path, staged)
        _move_all(files, path, job, staged)
        if is_new:
            directory.write_clean_mark()  # all logs are complete: a broker need not check them
        remove_staged_logs(files, path, job)
    finally:
        directory.release()


def remove_staged_logs(files: Files, path: str, job: str) -> None:
    """Remove what the job has staged. Raises: DiskFault."""
    if not files.is_directory(path):
        return
    for entry in files.entries(path):
        if entry.is_directory and entry.name.endswith(DELETE_DIRECTORY) and f".{job}" in entry.name:
            files.remove_directory(f"{path}/{entry.name}")


def check_no_broker_uses(files: Files, path: str) -> None:
    """Raises: DiskFault when a broker uses the log directory. One that is missing is not made."""
    if files.is_directory(path):
        LogDirectory(files, path).release()


def _check_one_each(staged: Iterable[StagedLog]) -> None:
    seen = set()
    for log in staged:
        if log.name in seen:
            raise PipelineFailure(
                f"{log.name} was written by two tasks; its rows have to be in one, as"
                ' .repartition("topic", "partition") puts them'
            )
        seen.add(log.name)


def _drop_from_checkpoints(files: Files, path: str, staged: Sequence[StagedLog]) -> None:
    """Drop what checkpoints say of former logs of these names: a broker would cut the new ones by it.

    A log with holes counts as cleaned up to its end.
    """
    gone = {(log.topic, log.partition) for log in staged}
    cleaned = {(log.topic, log.partition): log.end_offset for log in staged if log.has_holes}
    for name in _CHECKPOINTS:
        try:
            offsets = dict(read_offsets(files, f"{path}/{name}"))
        except MalformedCheckpoint:
            offsets = {}  # brokers take it for empty
        added = cleaned if name == CLEANER_OFFSETS else {}
        if added or gone & offsets.keys():
            kept = {key: offset for key, offset in offsets.items() if key not in gone}
            write_offsets(files, f"{path}/{name}", kept | added)


def _move_all(files: Files, path: str, job: str, staged: Sequence[StagedLog]) -> None:
    done: list[tuple[str, str]] = []
    try:
        for log in staged:
            for old, new in _renames_for(files, path, job, log):
                files.rename(old, new)
                done.append((old, new))
        files.sync_directory(path)
    except BaseException:
        for old, new in reversed(done):
            files.rename(new, old)
        raise


def _renames_for(files: Files, path: str, job: str, log: StagedLog) -> Iterable[tuple[str, str]]:
    """The renames that put a log in its place; an empty log of that name is first renamed to a staging name."""
    target = f"{path}/{log.name}"
    if files.is_directory(target):
        metadata = files.read_whole(f"{target}/{PARTITION_METADATA}", _MAX_METADATA_BYTES)
        if metadata is not None:
            files.replace(f"{log.directory}/{PARTITION_METADATA}", metadata)
        yield target, f"{path}/{_staging_name(log.topic, log.partition, job)}"
    yield log.directory, target
