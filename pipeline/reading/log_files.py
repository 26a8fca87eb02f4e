"""The partitions in a log directory or a copy of one, with their segments and checkpointed log start offsets.

Nothing is locked and nothing written: a broker may be using the directory. Logs that are being deleted or moved
(`-delete`, `-future`, `-stray`) are left out, as are files that are not yet or no longer part of a log (`.cleaned`,
`.swap`, `.deleted`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...protocol.errors import DiskFault
from ...storage.files.checkpoint_file import LOG_STARTS, MalformedCheckpoint, read_offsets
from ...storage.files.file_names import LOG, SKIPPED_DIRECTORIES, offset_of, parse_log_directory
from ...storage.files.files import Files
from ..failures import BadUsage
from .preallocated_tail import without_preallocated_tail
from .segment_file import SegmentFile

INTERNAL_PREFIX = "__"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLog:
    """One partition's log. `start_offset` is the first that may be read: retention has deleted what is before it."""

    topic: str
    partition: int
    directory: str
    start_offset: int
    segments: tuple[SegmentFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)


def partition_logs(
    files: Files, path: str, topics: Sequence[str] | None = None, *, all_there: bool = True
) -> list[PartitionLog]:
    """The logs in the log directory `path`, by topic and partition; all but internal topics unless `topics` names some.

    Raises: BadUsage for a directory that is none or, with `all_there`, a topic that is missing; DiskFault.
    """
    if not files.is_directory(path):
        raise BadUsage(f"{path}: no such log directory")
    starts = _log_starts(files, path)
    logs = []
    for entry in files.entries(path):
        name = parse_log_directory(entry.name) if entry.is_directory else None
        if name is None or name.suffix or entry.name in SKIPPED_DIRECTORIES or not _is_wanted(name.topic, topics):
            continue
        directory = f"{path}/{entry.name}"
        segments = _segments(files, directory)
        first = segments[0].base_offset if segments else 0
        logs.append(
            PartitionLog(
                topic=name.topic,
                partition=name.partition,
                directory=directory,
                start_offset=max(first, starts.get((name.topic, name.partition), 0)),
                segments=segments,
            )
        )
    missing = sorted(set(topics or ()) - {log.topic for log in logs})
    if missing and all_there:
        raise BadUsage(f"{path}: no such topic: {', '.join(missing)}")
    return sorted(logs, key=lambda log: (log.topic, log.partition))


def _is_wanted(topic: str, topics: Sequence[str] | None) -> bool:
    return not topic.startswith(INTERNAL_PREFIX) if topics is None else topic in topics


def _log_starts(files: Files, path: str) -> dict[tuple[str, int], int]:
    """As a broker does, an unreadable checkpoint is taken for an empty one."""
    try:
        return dict(read_offsets(files, f"{path}/{LOG_STARTS}"))
    except MalformedCheckpoint:
        return {}


def _segments(files: Files, directory: str) -> tuple[SegmentFile, ...]:
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
        for (base, entry), following in zip(found, [*bases[1:], None], strict=True)
    ]
    if segments:
        segments[-1] = without_preallocated_tail(files, segments[-1])
    return tuple(segments)
