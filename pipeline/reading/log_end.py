"""Where a log ends: the offset after the last whole batch of its newest segment, where that begins if it is empty."""

from ...protocol.errors import CorruptRecord, DiskFault
from ...storage.log.batch_scan import batch_headers
from ..places.place_files import PlaceFiles
from .index_files import offset_entries
from .partition_segments import PartitionSegments
from .segment_location import SegmentFile


def log_end_offset(files: PlaceFiles, log: PartitionSegments) -> int:
    """The offset that the next record would get. A damaged batch ends the log here; its reader reports it.

    Only the newest segment counts: compaction may have removed the last batches of those before it. It is walked from
    its last index entry on, if that is where a batch starts.
    """
    if not log.segments:
        return log.start_offset
    return segment_end_offset(files, log.segments[-1])


def segment_end_offset(files: PlaceFiles, segment: SegmentFile) -> int:
    """The offset after the segment's last whole batch, its base offset where it has none."""
    entries = offset_entries(files, segment)
    starts = [segment.start]
    if len(entries) and segment.start < entries.positions[-1] < segment.size_bytes:
        starts.insert(0, int(entries.positions[-1]))
    for start in starts:
        last = _last_offset(files, segment, start)
        if last is not None and last >= segment.base_offset:
            return last + 1
    return segment.base_offset


def _last_offset(files: PlaceFiles, segment: SegmentFile, start: int) -> int | None:
    file = segment.open(files)
    last = None
    try:
        for header in batch_headers(file, start, segment.size_bytes):
            if header.magic > 2:
                break
            last = header.last_offset
    except (CorruptRecord, DiskFault):
        pass
    finally:
        file.close()
    return last
