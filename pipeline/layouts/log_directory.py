"""A broker's log directory, or a copy of one: `topic-partition/00000000000000000000.log`, with log start offsets.

A broker may be using the directory. Which files count is the rule that a broker starts by (`transient_files.py`): a
finished `.swap` counts in place of what it replaces, `.cleaned` and `.deleted` do not.

    topic-1, topic-01        the same partition; both in a directory, or one in each of two of a broker, are an error,
                             unless a broker died as it moved one to the other, and has marked it
    topic-1.<id>-delete      left out
    topic-1.<id>-future      left out and told: a copy that a move had not finished
    topic-1.<id>-stray       left out and told: a broker had found that the partition was not its own
    no folder, but a         the records are lost; shown as a log without segments. Brokers list in checkpoints which
    checkpoint names it      partitions they have, and remove those that they give up
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...protocol.errors import DiskFault
from ...storage.directories.log_move import MOVED_MARK
from ...storage.files.checkpoint_file import CLEANER_OFFSETS
from ...storage.files.file_names import (
    DELETE_DIRECTORY,
    LOG,
    SKIPPED_DIRECTORIES,
    SWAP,
    LogFolderName,
    offset_of_file_name,
    parse_log_folder_name,
)
from ...storage.files.files import DirectoryEntry
from ...storage.files.partition_metadata import FILE_NAME as PARTITION_METADATA
from ...storage.recovery.transient_files import has_transient, plan_transient_files
from ..console_output import print_to_stderr_once
from ..failures import PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.log_end import segment_end_offset
from ..reading.partition_segments import PartitionSegments
from ..reading.preallocated_tail import without_preallocated_tail
from ..reading.segment_location import SegmentFile
from .checkpointed_offsets import CheckpointedOffsets, read_checkpoint
from .gone_logs import find_gone_logs, warn_of_missing_partitions


def read_logs_of_directories(
    files: PlaceFiles, directories: Mapping[str, Sequence[DirectoryEntry]], wanted: Callable[[str], bool]
) -> list[PartitionSegments]:
    """The logs of wanted topics in the log directories of one broker, by their paths and what is in them.

    Raises: PipelineFailure for a partition with two folders; DiskFault.
    """
    found = {path: _find_folders(path, entries) for path, entries in directories.items()}
    all_wanted = [folder for folders in found.values() for folder in folders if wanted(folder[0].topic)]
    old_copies = _find_old_copies(files, all_wanted)
    everywhere = {(name.topic, name.partition) for folders in found.values() for name, _ in folders}
    logs, is_any_named = [], False
    for path, entries in directories.items():
        checkpoints = CheckpointedOffsets.read(files, path, entries)
        is_any_named |= checkpoints.names_a_partition
        folders = [
            (name, directory) for name, directory in found[path] if wanted(name.topic) and directory not in old_copies
        ]
        logs += _read_logs(files, path, folders, checkpoints)
        logs += find_gone_logs(files, path, checkpoints, everywhere, wanted, is_empty=not found[path])
    if not is_any_named:
        warn_of_missing_partitions(", ".join(directories), [key for key in everywhere if wanted(key[0])])
    return logs


def _find_folders(path: str, entries: Sequence[DirectoryEntry]) -> list[tuple[LogFolderName, str]]:
    return [
        (name, f"{path}/{entry.name}")
        for entry in entries
        if entry.is_directory and (name := parse_log_folder_name(entry.name)) is not None
        if entry.name not in SKIPPED_DIRECTORIES
    ]


def _read_logs(
    files: PlaceFiles, path: str, folders: Sequence[tuple[LogFolderName, str]], checkpoints: CheckpointedOffsets
) -> list[PartitionSegments]:
    """The logs in the folders that a broker serves. `checkpoints` were read before: a running one only adds to them."""
    for name, directory in folders:
        if name.suffix and name.suffix != DELETE_DIRECTORY:
            print_to_stderr_once(
                f"{directory}: left out, it is a {name.suffix.removeprefix('-')} log, which brokers do not serve"
            )
    served = [(name, directory) for name, directory in folders if not name.suffix]
    found = files.map_items(lambda each: _read_folder(files, each[1]), served, near=path)
    # After the segments: what is compacted meanwhile is in it.
    cleaned = read_checkpoint(files, path, CLEANER_OFFSETS)
    return [
        PartitionSegments(
            topic=key[0],
            partition=key[1],
            directory=directory,
            start_offset=max(folder.segments[0].base_offset if folder.segments else 0, checkpoints.starts.get(key, 0)),
            segments=folder.segments,
            compacted_to=cleaned.get(key, 0),
            known_end=checkpoints.least_log_end(key, has_id=folder.has_id),
        )
        for (name, directory), folder in zip(served, found, strict=True)
        if folder is not None
        for key in [(name.topic, name.partition)]
    ]


def _find_old_copies(files: PlaceFiles, folders: Sequence[tuple[LogFolderName, str]]) -> set[str]:
    """Folders whose logs stepdown was moving to another directory when it died; a warning names them.

    Raises: PipelineFailure for a partition with two folders of which none is such a one; DiskFault.
    """
    seen: dict[tuple[str, int], str] = {}
    old: set[str] = set()
    for name, directory in folders:
        if name.suffix:
            continue
        key = (name.topic, name.partition)
        other = seen.setdefault(key, directory)
        if other == directory:
            continue
        copy = next((each for each in (other, directory) if files.exists(f"{each}/{MOVED_MARK}")), None)
        if copy is None:
            raise PipelineFailure(
                f"{name.topic}-{name.partition} is in two folders, {other} and {directory}: no broker starts so;"
                " move away the one that is not wanted"
            )
        seen[key] = other if copy == directory else directory
        print_to_stderr_once(f"{copy}: left out, a broker has moved it to {seen[key]}")
        old.add(copy)
    return old


class _Folder(NamedTuple):
    """The segments of a partition that count, and whether a file tells the id of its topic."""

    segments: tuple[SegmentFile, ...]
    has_id: bool


def _read_folder(files: PlaceFiles, directory: str) -> _Folder | None:
    """Lists the segments of a partition's folder; returns None if the partition was deleted meanwhile."""
    try:
        entries = files.entries(directory)
    except DiskFault as fault:
        if isinstance(fault.__cause__, FileNotFoundError):
            return None
        raise
    inside = {entry.name: entry for entry in entries if not entry.is_directory}
    if has_transient(list(inside)):
        plan = plan_transient_files(files, directory, list(inside))
        inside = {name: entry for name, entry in inside.items() if name not in plan.removed}
    found = sorted(
        (base, name)
        for name in inside
        if name.removesuffix(SWAP).endswith(LOG) and (base := offset_of_file_name(name)) is not None
    )
    following = [*(base for base, _ in found), None][1:]
    segments = [
        SegmentFile(
            path=f"{directory}/{name}",
            base_offset=base,
            next_base=after,
            size_bytes=inside[name].size_bytes,
            version=inside[name].version,
        )
        for (base, name), after in zip(found, following, strict=True)
    ]
    segments = _drop_stray_segments(files, segments)
    if segments:
        segments[-1] = without_preallocated_tail(files, segments[-1])
    return _Folder(tuple(segments), PARTITION_METADATA in inside)


def _drop_stray_segments(files: PlaceFiles, segments: Sequence[SegmentFile]) -> list[SegmentFile]:
    """Leaves out, as a broker does at its start, each empty segment that lies within the one before it: it would hide
    records of that one."""
    kept: list[SegmentFile] = []
    for segment in segments:
        if kept and not segment.size_bytes and segment_end_offset(files, kept[-1]) > segment.base_offset:
            kept[-1] = replace(kept[-1], next_base=segment.next_base)
        else:
            kept.append(segment)
    return kept
