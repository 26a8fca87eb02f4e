"""Kafka's own `LocalTieredStorage`, as its tests and many trials of KIP-405 use it.

    <root>/<topic>-<partition>-<topic id>/
        <20 digits of the base offset>-<segment id>.log | .index | .timeindex | .txnindex | .snapshot
        <the same>.leader_epoch_checkpoint

The `.log` is written first and the checkpoint last, so a segment without its checkpoint was not uploaded whole.
Source: Kafka 3.9 `RemoteLogSegmentFileset`, `RemoteTopicPartitionDirectory`.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from ...storage.files.file_names import LOG
from ...storage.files.files import DirectoryEntry
from ..places.place_files import PlaceFiles
from ..reading.log_end import segment_end_offset
from ..reading.segment_location import SegmentFile
from .tiered_segment import TieredPartition, TieredSegment, parse_epochs

EPOCHS = ".leader_epoch_checkpoint"
MAX_EPOCHS_BYTES = 1 << 20

_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>[0-9]{1,10})-(?P<topic_id>[A-Za-z0-9_-]{22})")
_SEGMENT = re.compile(r"(?P<base>[0-9]{20})-(?P<segment_id>[A-Za-z0-9_-]{22})\.log")


def is_local_tiered_storage(entries: Sequence[DirectoryEntry]) -> bool:
    """Whether these are the folders of such a storage."""
    return any(entry.is_directory and _DIRECTORY.fullmatch(entry.name) for entry in entries)


def partitions_of_storage(
    files: PlaceFiles, path: str, entries: Sequence[DirectoryEntry], wanted: Callable[[str], bool]
) -> list[TieredPartition]:
    """The partitions of the wanted topics, with all uploaded segments. Raises: DiskFault."""
    found = [
        (name, f"{path}/{entry.name}")
        for entry in entries
        if entry.is_directory and (name := _DIRECTORY.fullmatch(entry.name)) and wanted(name["topic"])
    ]
    folders = files.map_items(lambda each: files.entries(each[1]), found, near=path)
    uploads = [list(_find_uploads(directory, inside)) for (_, directory), inside in zip(found, folders, strict=True)]
    segments = files.map_groups(lambda file: _read_segment(files, file), uploads, near=path)
    return [
        TieredPartition(
            topic=name["topic"],
            topic_id=name["topic_id"],
            partition=int(name["partition"]),
            directory=directory,
            segments=those,
        )
        for (name, directory), those in zip(found, segments, strict=True)
    ]


def _find_uploads(directory: str, entries: Sequence[DirectoryEntry]) -> Iterator[SegmentFile]:
    whole = {entry.name.removesuffix(EPOCHS) for entry in entries if entry.name.endswith(EPOCHS)}
    for entry in entries:
        match = _SEGMENT.fullmatch(entry.name)
        if match and entry.name.removesuffix(LOG) in whole:
            path, base_offset = f"{directory}/{entry.name}", int(match["base"])
            yield SegmentFile(
                path=path,
                base_offset=base_offset,
                next_base=None,
                size_bytes=entry.size_bytes,
                version=entry.version,
            )


def _read_segment(files: PlaceFiles, file: SegmentFile) -> TieredSegment:
    checkpoint = file.path_with_suffix(EPOCHS)
    return TieredSegment(
        file=file,
        end_offset=segment_end_offset(files, file),
        epochs=parse_epochs(files.read_whole(checkpoint, MAX_EPOCHS_BYTES) or b"", checkpoint),
    )
