"""How much of a log's newest file holds batches, when a broker that is running has set room aside behind them."""

from dataclasses import replace

from ...protocol.errors import CorruptRecord, DiskFault
from ...storage.batch_headers import HEADER_BYTES_TO_MAGIC as NO_HEADER_BYTES
from ...storage.batch_headers import batch_headers
from ...storage.file_handle import FileHandle
from ...storage.files import Files
from ...storage.room import is_room
from .index_files import offset_entries
from .segment_file import SegmentFile


def without_room(files: Files, segment: SegmentFile) -> SegmentFile:
    """The segment without the zeros that reach from its last whole batch to the end of the file, if there are any.

    It is walked from its last index entry on, if that is where a batch starts, else from the beginning. A file that
    cannot be read stays as it is, as its reader will say why.
    """
    size = segment.size_bytes
    file = files.handle(segment.path)
    try:
        if not is_room(file, max(0, size - NO_HEADER_BYTES - 1), size):  # fewer are taken for the end of the file
            return segment
        entries = offset_entries(files, segment)
        starts = [0]
        if len(entries) and entries.positions[-1] < size:
            starts.insert(0, int(entries.positions[-1]))
        for start in starts:
            end = _end_of_batches(file, start, size)
            if is_room(file, end, size):
                return replace(segment, size_bytes=end)
    except DiskFault:
        pass
    finally:
        file.close()
    return segment


def _end_of_batches(file: FileHandle, start: int, size: int) -> int:
    end = start
    try:
        for header in batch_headers(file, start, size):
            end = header.end
    except CorruptRecord:
        pass
    return end
