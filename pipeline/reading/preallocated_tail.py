"""How much of a log's newest segment holds batches, where the topic is set to `preallocate`.

Such a segment has its full size from the start, with zeros behind its last batch until it is rolled or closed.
"""

from collections.abc import Iterator
from dataclasses import replace

from ...protocol.errors import CorruptRecord, DiskFault
from ...protocol.records.layout import HEADER_SIZE_UP_TO_MAGIC
from ...storage.files.file_handle import ReadableFile
from ...storage.log.batch_scan import batch_headers
from ...storage.log.preallocated_zeros import is_all_zeros
from ..places.place_files import PlaceFiles
from .index_files import offset_entries
from .segment_location import SegmentFile

TRIES = 8
"""How often the file is looked at again when its size has changed meanwhile."""


def without_preallocated_tail(files: PlaceFiles, segment: SegmentFile) -> SegmentFile:
    """The segment without the zeros that reach from its last whole batch to the end of the file, if there are any.

    A broker may append to the file meanwhile, or cut the zeros off. A file that cannot be read is returned as it is:
    the task that reads it will report the failure.
    """
    file = segment.open(files)
    try:
        size = segment.size_bytes
        for _ in range(TRIES):
            end = _position_of_zeros(files, file, segment, size)
            now = files.size(segment.path)
            if end is not None and end <= now:
                return replace(segment, size_bytes=end)
            if now == size:  # damage, or a torn batch
                break
            size = now
        return replace(segment, size_bytes=size)
    except DiskFault:
        return segment
    finally:
        file.close()


def _position_of_zeros(files: PlaceFiles, file: ReadableFile, segment: SegmentFile, size: int) -> int | None:
    """The position where zeros begin that reach to `size`, `size` without zeros; None if something else is between."""
    if not is_all_zeros(file, max(0, size - HEADER_SIZE_UP_TO_MAGIC - 1), size):
        return size
    for start in _positions_to_walk_from(files, segment, size):
        end = _end_of_batches(file, start, size)
        if (end > start or not start) and is_all_zeros(file, end, size):
            return end
        if end > start and (further := _end_of_batches(file, end, size)) > end:  # appended meanwhile
            return further
    return None


def _positions_to_walk_from(files: PlaceFiles, segment: SegmentFile, size: int) -> Iterator[int]:
    """Where a walk over batches may begin: at the last index entry, if a batch is there, and at the beginning."""
    entries = offset_entries(files, segment)
    if len(entries) and 0 < entries.positions[-1] < size:
        yield int(entries.positions[-1])
    yield 0


def _end_of_batches(file: ReadableFile, start: int, size: int) -> int:
    end = start
    try:
        for header in batch_headers(file, start, size):
            end = header.end
    except CorruptRecord:
        pass
    return end
