"""A broker's log directory, or a copy of one: `topic-partition/00000000000000000000.log`, with log start offsets.

A broker may be using the directory. Logs that are being deleted or moved (`-delete`, `-future`, `-stray`) are left out,
as are files that are not yet or no longer part of a log (`.cleaned`, `.swap`, `.deleted`).
"""

from collections.abc import Callable, Sequence

from ...protocol.errors import DiskFault
from ...storage.files.checkpoint_file import LOG_STARTS, MalformedCheckpoint, read_offsets
from ...storage.files.file_names import LOG, SKIPPED_DIRECTORIES, offset_of, parse_log_directory
from ...storage.files.files import DirectoryEntry
from ..places.place_files import PlaceFiles
from ..reading.partition_segments import PartitionSegments
from ..reading.preallocated_tail import without_preallocated_tail
from ..reading.segment_location import SegmentFile


def logs_of_directory(
    files: PlaceFiles, path: str, entries: Sequence[DirectoryEntry], wanted: Callable[[str], bool]
) -> list[PartitionSegments]:
    """The logs among the folders of `path` whose topics are wanted. Raises: DiskFault."""
    names = [
        (name, f"{path}/{entry.name}")
        for entry in entries
        if entry.is_directory and (name := parse_log_directory(entry.name)) is not None
        if not name.suffix and entry.name not in SKIPPED_DIRECTORIES and wanted(name.topic)
    ]
    starts = _log_starts(files, path)
    found = files.look_at_all(lambda each: _segments(files, each[1]), names, near=path)
    return [
        PartitionSegments(
            topic=name.topic,
            partition=name.partition,
            directory=directory,
            start_offset=max(segments[0].base_offset if segments else 0, starts.get((name.topic, name.partition), 0)),
            segments=segments,
        )
        for (name, directory), segments in zip(names, found, strict=True)
    ]


def checkpointed_start(files: PlaceFiles, path: str, topic: str, partition: int) -> int | None:
    """The log start offset that a broker noted, which may lie in tiered storage; None when it noted none."""
    return _log_starts(files, path).get((topic, partition))


def _log_starts(files: PlaceFiles, path: str) -> dict[tuple[str, int], int]:
    """As a broker does, an unreadable checkpoint is taken for an empty one."""
    try:
        return dict(read_offsets(files, f"{path}/{LOG_STARTS}"))
    except MalformedCheckpoint:
        return {}


def _segments(files: PlaceFiles, directory: str) -> tuple[SegmentFile, ...]:
    try:
        entries = files.entries(directory)
    except DiskFault as fault:
        if isinstance(fault.__cause__, FileNotFoundError):  # the topic was deleted meanwhile
            return ()
        raise
    found = [
        (base, entry)
        for entry in entries
        if not entry.is_directory and entry.name.endswith(LOG) and (base := offset_of(entry.name)) is not None
    ]
    bases = [base for base, _ in found]
    segments = [
        SegmentFile(
            path=f"{directory}/{entry.name}", base_offset=base, next_base=following, size_bytes=entry.size_bytes
        )
        for (base, entry), following in zip(found, [*bases, None][1:], strict=True)
    ]
    if segments:
        segments[-1] = without_preallocated_tail(files, segments[-1])
    return tuple(segments)
