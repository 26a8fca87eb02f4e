"""An archive of a log directory: what is new since the last batch, written by tasks, then committed.

| step | what a crash after it leaves |
|---|---|
| the batch's offsets are noted in `_archive.json` | the next run writes the same offsets, under the same number |
| tasks write files | files that the next run replaces; what it does not replace it has removed before |
| one commit, of Delta or of the manifest | the next run finds it by the batch's number, and writes nothing |
| the batch is noted as done | |

So a Delta table and the manifest of a Parquet table have all of a batch or nothing. Readers that list the folders of a
Parquet table have each record once when no run is under way; during one, or after one that died, they may have a part
of the last batch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...storage.files.partition_metadata import encode_uuid, read_topic_id
from ..console_output import print_to_stderr
from ..failures import BadUsage, DataLoss
from ..places.place_files import PlaceFiles, join_places
from ..reading.log_losses import find_lost_log_or_tail
from ..reading.partition_segments import PartitionSegments
from ..reading.splits import OffsetsToRead, Split, SplitPlanner
from ..sources.options import ReadOptions
from ..sources.segments_stream import limit_ends
from .delta_table import DeltaArchive
from .parquet_archive import ParquetArchive
from .parquet_files import STAGED, ArchivedFile, ArchiveTask, part_name_prefix, write_task
from .partitioning import PartitionBy
from .state import FILE_NAME, ArchivedPosition, ArchiveState, NewOffsets, TopicPartition, read_state, write_state

Format = Literal["parquet", "delta"]
RunTasks = Callable[[Callable[[ArchiveTask], list[ArchivedFile]], Sequence[ArchiveTask], int], list[ArchivedFile]]
"""Runs a function for each task on the workers, and returns what all return; the number is their bytes together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogArchive:
    """What is archived, where to and how. `file_bytes`: how much of the logs one task makes its files of.

    `lost_is_failure`: whether offsets that are gone before they were archived end the run.
    """

    options: ReadOptions
    out: str
    format: Format
    file_bytes: int
    lineage: bool = False
    timestamp_ms: bool = False
    partition_by: PartitionBy = "date"
    max_offsets: int | None = None
    lost_is_failure: bool = True

    @property
    def source(self) -> dict[str, object]:
        """The settings that have to be the same in every run."""
        options = self.options
        # Archives of earlier versions are by date, without the stored times, and do not say so.
        layout: dict[str, object] = {} if self.partition_by == "date" else {"partition_by": self.partition_by}
        layout |= {"timestamp_ms": True} if self.timestamp_ms else {}
        return layout | {
            "log_dir": join_places(map(options.files().absolute, (options.path, *options.beside))),
            "tiered": options.tiered_path,
            "topics": None if options.topics is None else list(options.topics),
            "format": self.format,
            "lineage": self.lineage,
            "isolation_level": "read_committed" if options.read_committed else "read_uncommitted",
        }


def archive_new_batches(run: RunTasks, archive: LogArchive) -> Iterator[list[ArchivedFile]]:
    """Archive what is there now and was not before, yielding the files of each batch when it is committed.

    `run` is called when there is something to write: what is wrong or not new is reported without Spark.

    Raises: PipelineFailure, DiskFault.
    """
    files = PlaceFiles(archive.options.store, writable=True)
    state = read_state(files, archive.out, archive.source)
    if state.batches == 0 and state.writing is None and _holds_something_else(files, archive.out):
        raise BadUsage(f"{archive.out} is not empty, and no archive")
    table = open_table(files, archive, state)
    while True:
        logs = archive.options.logs(files, all_there=not state.done)
        if state.writing is None:
            new = find_new_offsets(files, archive, logs, state.done)
            if not new:
                return
            state = state.with_batch_open(new)
            write_state(files, archive.out, state)
        elif not table.has_committed(state.batches):
            _remove_leftovers(files, archive.out, state)
        if not table.has_committed(state.batches):
            written = _write_files(run, files, archive, logs, state)
            table.commit(state.batches, written)
            yield written
        state = state.with_batch_done()
        write_state(files, archive.out, state)


def _holds_something_else(files: PlaceFiles, out: str) -> bool:
    """Whether there is more than the state files that a first run leaves if it is killed as it begins."""
    return files.is_directory(out) and any(not entry.name.startswith(FILE_NAME) for entry in files.entries(out))


def open_table(files: PlaceFiles, archive: LogArchive, state: ArchiveState) -> DeltaArchive | ParquetArchive:
    """The table of an archive. Raises: BadUsage, DiskFault."""
    if archive.format == "parquet":
        return ParquetArchive(files, archive.out, state.batches)
    return DeltaArchive(
        archive.out,
        archive.options.store,
        archive_id=state.id,
        lineage=archive.lineage,
        timestamp_ms=archive.timestamp_ms,
        partition_by=archive.partition_by,
    )


def find_new_offsets(
    files: PlaceFiles,
    archive: LogArchive,
    logs: Sequence[PartitionSegments],
    done: Mapping[TopicPartition, ArchivedPosition],
) -> dict[TopicPartition, NewOffsets]:
    """The offsets of the next batch; none when nothing is new. Raises: DataLoss."""
    found: dict[TopicPartition, NewOffsets] = {}
    for log in logs:
        for loss in find_lost_log_or_tail(files, log):
            _raise_or_print_loss(archive, str(loss))
        if not log.segments:
            continue
        topic_id = _find_topic_id(files, log)
        end = archive.options.end_of_reading(files, log)
        first = _first_new_offset(archive, log, end, topic_id, done.get((log.topic, log.partition)))
        if first < end:
            found[log.topic, log.partition] = NewOffsets(first, end, topic_id)
    if archive.max_offsets is None:
        return found
    begin, ends = ({}, {})  # type: dict[str, dict[str, int]], dict[str, dict[str, int]]
    for (topic, partition), each in found.items():
        begin.setdefault(topic, {})[str(partition)] = each.first
        ends.setdefault(topic, {})[str(partition)] = each.end
    stops = limit_ends(begin, ends, archive.max_offsets)
    cut = {key: each._replace(end=stops[key[0]][str(key[1])]) for key, each in found.items()}
    return {key: each for key, each in cut.items() if each.first < each.end}


def _first_new_offset(
    archive: LogArchive, log: PartitionSegments, end: int, topic_id: str | None, position: ArchivedPosition | None
) -> int:
    """Where the next batch of a partition begins. Raises: DataLoss."""
    name = f"{log.topic}-{log.partition}"
    if position is None:
        return log.start_offset
    if topic_id is not None and position.topic_id not in (None, topic_id):
        print_to_stderr(f"{name}: the topic was made anew; archived from offset {log.start_offset} on")
        return log.start_offset
    if log.start_offset <= position.offset <= end:
        return position.offset
    lost = (
        f"{name}: archived up to offset {position.offset}, the log now has {log.start_offset} to {end}:"
        " what was between is gone"
    )
    _raise_or_print_loss(archive, lost)
    return max(log.start_offset, min(position.offset, end))


def _raise_or_print_loss(archive: LogArchive, lost: str) -> None:
    """Raises: DataLoss, unless the archive goes on after losses."""
    if archive.lost_is_failure:
        raise DataLoss(f"{lost}; --skip-lost goes on with what is there")
    print_to_stderr(lost)


def _find_topic_id(files: PlaceFiles, log: PartitionSegments) -> str | None:
    if log.topic_id is not None:
        return log.topic_id
    found = read_topic_id(files, log.directory)
    return None if found is None else encode_uuid(found)


def _write_files(
    run: RunTasks,
    files: PlaceFiles,
    archive: LogArchive,
    logs: Sequence[PartitionSegments],
    state: ArchiveState,
) -> list[ArchivedFile]:
    """Write the batch's files on the workers, ordered by their paths."""
    tasks = list(_make_tasks(files, archive, logs, state))
    if not tasks:
        return []
    tasks.sort(key=lambda task: -sum(split.size_bytes for split in task.splits))
    size_bytes = sum(split.size_bytes for task in tasks for split in task.splits)
    return sorted(run(write_task, tasks, size_bytes), key=lambda file: file.path)


def _make_tasks(
    files: PlaceFiles, archive: LogArchive, logs: Sequence[PartitionSegments], state: ArchiveState
) -> Iterator[ArchiveTask]:
    """Splits of one partition together up to `file_bytes`. Raises: DataLoss for a partition that is gone meanwhile."""
    assert state.writing is not None
    planner = SplitPlanner(files, archive.file_bytes)
    by_name = {(log.topic, log.partition): log for log in logs}
    for key, new in sorted(state.writing.items()):
        log = by_name.get(key)
        if log is None or log.start_offset > new.first:
            _raise_or_print_loss(
                archive, f"{key[0]}-{key[1]}: offsets {new.first} to {new.end - 1} were to be archived, and are gone"
            )
        if log is None:
            continue
        aborted = archive.options.transactions(files, log).aborted
        wanted = OffsetsToRead(first=new.first, end=new.end, aborted=aborted)
        for splits in _group_splits(planner.plan_splits(log, wanted), archive.file_bytes):
            yield ArchiveTask(
                out=archive.out,
                batch=state.batches,
                splits=splits,
                lineage=archive.lineage,
                timestamp_ms=archive.timestamp_ms,
                partition_by=archive.partition_by,
                store=archive.options.store,
                lost_is_failure=archive.lost_is_failure,
            )
    for warning in planner.warnings:
        print_to_stderr(warning)
    for loss in planner.losses:
        _raise_or_print_loss(archive, str(loss))


def _group_splits(splits: Iterator[Split], most_bytes: int) -> Iterator[tuple[Split, ...]]:
    run: list[Split] = []
    for split in splits:
        if run and sum(each.size_bytes for each in run) + split.size_bytes > most_bytes:
            yield tuple(run)
            run = []
        run.append(split)
    if run:
        yield tuple(run)


def _remove_leftovers(files: PlaceFiles, out: str, state: ArchiveState) -> None:
    """Remove what a run that died has left of the batch that is to be written again."""
    assert state.writing is not None
    prefix = part_name_prefix(state.batches)
    for topic in {topic for topic, _ in state.writing}:
        folder = f"{out}/topic={topic}"
        inside = files.entries(folder) if files.is_directory(folder) else ()
        folders = [*([folder] if inside else []), *(f"{folder}/{each.name}" for each in inside if each.is_directory)]
        for path, entries in zip(folders, files.map_items(files.entries, folders, near=out), strict=True):
            for entry in entries:
                if entry.name.startswith(prefix):
                    files.remove(f"{path}/{entry.name}")
    staged = f"{out}/{STAGED}"
    for entry in files.entries(staged) if files.is_directory(staged) else ():
        files.remove(f"{staged}/{entry.name}")
