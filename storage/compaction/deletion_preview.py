"""How many records a cleanup policy would delete from a partition now, computed from its folder alone.

Retention deletes whole segments, as `storage/log/retention.py` decides. Compaction is counted as if nothing had been
compacted before: of all records below the active segment, one of each key stays. Transaction markers are not counted.
Compressed message sets of format v0 or v1 are decompressed to count their records.
"""

import secrets
from dataclasses import dataclass

from ...protocol.errors import CorruptRecord
from ...protocol.records.batches import Batch, iter_batches
from ...protocol.records.compaction_loops import SECRET_BYTES, OffsetMap
from ..files.file_names import (
    LOG,
    MAX_OFFSET,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    offset_of_file_name,
    segment_file_path,
)
from ..files.files import Files
from ..log.log_config import LogConfig
from ..log.retention import reasons_to_delete
from ..log.segment import Segment
from ..log.segment_windows import windows
from ..log.segments import Segments
from .aborted_transactions import CleanedTransactionMetadata
from .dirty_keys import DirtyKeys

MOST_KEYS = 5_000_000
"""A key takes 24 bytes. If there are more keys, all further records are counted as retained."""
WINDOW_BYTES = 1 << 20
MAX_OPENED_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionPreview:
    """Records and bytes that retention would delete now, and records that compaction would."""

    deleted_by_retention: int = 0
    deleted_by_retention_bytes: int = 0
    deleted_by_compaction: int = 0

    def __add__(self, other: "DeletionPreview") -> "DeletionPreview":
        return DeletionPreview(
            deleted_by_retention=self.deleted_by_retention + other.deleted_by_retention,
            deleted_by_retention_bytes=self.deleted_by_retention_bytes + other.deleted_by_retention_bytes,
            deleted_by_compaction=self.deleted_by_compaction + other.deleted_by_compaction,
        )


@dataclass(slots=True)
class _LogForRetention:
    """The attributes of a log that retention reads."""

    config: LogConfig
    segments: Segments
    log_start_offset: int
    log_end_offset: int


def preview_deletion(files: Files, folder: str, config: LogConfig, now_ms: int) -> DeletionPreview:
    """Counts the records that these settings would delete now. Raises: DiskFault, CorruptRecord."""
    segments = _read_segments(files, folder)
    if not len(segments):
        return DeletionPreview()
    start = segments[0].base_offset
    read = _LogForRetention(config, segments, start, _find_end_offset(segments.active))
    count = len(reasons_to_delete(read, now_ms, read.log_end_offset))
    deleted_by_retention = sum(_count_records(files, segment) for segment in list(segments)[:count])
    compacted = _count_deleted_by_compaction(files, segments, count) if config.is_compacted else 0
    size_bytes = sum(segment.size for segment in list(segments)[:count])
    return DeletionPreview(
        deleted_by_retention=deleted_by_retention,
        deleted_by_retention_bytes=size_bytes,
        deleted_by_compaction=compacted,
    )


def _read_segments(files: Files, folder: str) -> Segments:
    names = files.names(folder)
    bases = sorted(base for name in names if name.endswith(LOG) and (base := offset_of_file_name(name)) is not None)
    return Segments([_read_segment(files, folder, base, names) for base in bases])


def _read_segment(files: Files, folder: str, base: int, names: set[str]) -> Segment:
    sizes = {}
    for suffix in (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX):
        path = segment_file_path(folder, base, suffix)
        if path.rpartition("/")[2] in names:
            sizes[suffix] = files.size(path)
    segment = Segment(files, folder, base, sizes=sizes, created_ms=0)
    newest = max((batch.max_timestamp for batch in segment.batches()), default=-1)
    segment.max_timestamp = max(segment.max_timestamp, newest)
    return segment


def _find_end_offset(active: Segment) -> int:
    return max((batch.last_offset + 1 for batch in active.batches()), default=active.base_offset)


def _count_deleted_by_compaction(files: Files, segments: Segments, first: int) -> int:
    """The count for the segments from number `first` on, without the active one."""
    closed = list(segments)[first:-1]
    if not closed:
        return 0
    start, end = closed[0].base_offset, segments.active.base_offset
    most = min(MOST_KEYS, end - start + 1)
    keys = OffsetMap(2 * most + 1, most, secrets.token_bytes(SECRET_BYTES))
    work = DirtyKeys(keys, files, CleanedTransactionMetadata(), start=start, end=end, max_opened_bytes=MAX_OPENED_BYTES)
    try:
        for _ in work.collect(closed, WINDOW_BYTES):
            pass
    except CorruptRecord as fault:
        raise CorruptRecord(f"{closed[0].directory}: {fault}") from fault
    present = sum(_count_records(files, segment, keys.latest_offset) for segment in closed)
    return max(0, present - keys.used)


def _count_records(files: Files, segment: Segment, last: int = MAX_OFFSET) -> int:
    """Counts records in batches that end at or before `last`. Raises: CorruptRecord, RecordTooLarge, DiskFault."""
    batches = (batch for window in windows(files, segment, 0, WINDOW_BYTES) for batch in iter_batches(window))
    return sum(_count_batch_records(batch) for batch in batches if not batch.is_control and batch.last_offset <= last)


def _count_batch_records(batch: Batch) -> int:
    if batch.record_count is None:
        return sum(1 for _ in batch.records(MAX_OPENED_BYTES))
    return batch.record_count
