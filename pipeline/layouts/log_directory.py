"""A broker's log directory, or a copy of one: `topic-partition/00000000000000000000.log`, with log start offsets.

A broker may be using the directory. Which files count is the rule that a broker starts by (`transient_files.py`): a
finished `.swap` counts in place of what it replaces, `.cleaned` and `.deleted` do not.

    topic-1, topic-01        the same partition; both in one directory are an error, as for a broker
    topic-1.<id>-delete      left out
    topic-1.<id>-future      left out and told: a copy that a move had not finished
    topic-1.<id>-stray       left out and told: a broker had found that the partition was not its own
    none, but a checkpoint   a log without segments, whose records are lost: brokers write there which partitions
    names the partition      they have, and take away those that they give up
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...protocol.errors import DiskFault
from ...storage.files.checkpoint_file import (
    CLEANER_OFFSETS,
    LOG_STARTS,
    RECOVERY_POINTS,
)
from ...storage.files.file_names import (
    DELETE_DIRECTORY,
    LOG,
    SKIPPED_DIRECTORIES,
    SWAP,
    LogDirectoryName,
    offset_of,
    parse_log_directory,
)
from ...storage.files.files import DirectoryEntry
from ...storage.recovery.transient_files import has_transient, plan_transient_files
from ..console_output import say_once
from ..failures import PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.log_end import segment_end_offset
from ..reading.partition_segments import PartitionSegments
from ..reading.preallocated_tail import without_preallocated_tail
from ..reading.segment_location import SegmentFile
from .gone_logs import gone_logs, read_checkpoint


def logs_of_directory(
    files: PlaceFiles, path: str, entries: Sequence[DirectoryEntry], wanted: Callable[[str], bool]
) -> list[PartitionSegments]:
    """The logs among the folders of `path` whose topics are wanted.

    Raises: PipelineFailure for a partition with two folders; DiskFault.
    """
    names = [
        (name, f"{path}/{entry.name}")
        for entry in entries
        if entry.is_directory and (name := parse_log_directory(entry.name)) is not None
        if entry.name not in SKIPPED_DIRECTORIES and wanted(name.topic)
    ]
    for name, directory in names:
        if name.suffix and name.suffix != DELETE_DIRECTORY:
            say_once(f"{directory}: left out, it is a {name.suffix.removeprefix('-')} log, which brokers do not serve")
    served = [(name, directory) for name, directory in names if not name.suffix]
    _check_one_each(served)
    # Before the segments: a broker that goes on meanwhile only adds to what these promise.
    starts = read_checkpoint(files, path, LOG_STARTS)
    flushed = read_checkpoint(files, path, RECOVERY_POINTS)
    found = files.look_at_all(lambda each: _segments(files, each[1]), served, near=path)
    # After the segments: what is compacted meanwhile is in it.
    cleaned = read_checkpoint(files, path, CLEANER_OFFSETS)
    there = [
        PartitionSegments(
            topic=name.topic,
            partition=name.partition,
            directory=directory,
            start_offset=max(segments[0].base_offset if segments else 0, starts.get((name.topic, name.partition), 0)),
            segments=segments,
            compacted_to=cleaned.get((name.topic, name.partition), 0),
            known_end=flushed.get((name.topic, name.partition), 0),
        )
        for (name, directory), segments in zip(served, found, strict=True)
        if segments is not None
    ]
    folders = {(name.topic, name.partition) for name, _ in names}
    return there + gone_logs(files, path, flushed, starts, folders, wanted)


def _check_one_each(served: Sequence[tuple[LogDirectoryName, str]]) -> None:
    """Raises: PipelineFailure."""
    seen: dict[tuple[str, int], str] = {}
    for name, directory in served:
        other = seen.setdefault((name.topic, name.partition), directory)
        if other != directory:
            raise PipelineFailure(
                f"{name.topic}-{name.partition} is in two folders, {other} and {directory}: no broker starts so;"
                " move away the one that is not wanted"
            )


def _segments(files: PlaceFiles, directory: str) -> tuple[SegmentFile, ...] | None:
    """The segments that count, None where the partition was deleted meanwhile."""
    try:
        entries = files.entries(directory)
    except DiskFault as fault:
        if isinstance(fault.__cause__, FileNotFoundError):
            return None
        raise
    sizes = {entry.name: entry.size_bytes for entry in entries if not entry.is_directory}
    if has_transient(list(sizes)):
        plan = plan_transient_files(files, directory, list(sizes))
        sizes = {name: size for name, size in sizes.items() if name not in plan.removed}
    found = sorted(
        (base, name)
        for name in sizes
        if name.removesuffix(SWAP).endswith(LOG) and (base := offset_of(name)) is not None
    )
    following = [*(base for base, _ in found), None][1:]
    segments = [
        SegmentFile(path=f"{directory}/{name}", base_offset=base, next_base=after, size_bytes=sizes[name])
        for (base, name), after in zip(found, following, strict=True)
    ]
    segments = _without_strays(files, segments)
    if segments:
        segments[-1] = without_preallocated_tail(files, segments[-1])
    return tuple(segments)


def _without_strays(files: PlaceFiles, segments: Sequence[SegmentFile]) -> list[SegmentFile]:
    """As a broker starts: an empty segment that lies within the one before it would hide that one's records."""
    kept: list[SegmentFile] = []
    for segment in segments:
        if kept and not segment.size_bytes and segment_end_offset(files, kept[-1]) > segment.base_offset:
            kept[-1] = replace(kept[-1], next_base=segment.next_base)
        else:
            kept.append(segment)
    return kept
