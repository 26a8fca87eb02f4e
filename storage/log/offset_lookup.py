"""Finds offsets by time, and the aborted transactions in a slice that was read.

Source: Kafka 3.9 `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`,
`UnifiedLog.legacyFetchOffsetsBefore`, `LocalLog.collectAbortedTransactions`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from typing import Protocol

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.batches import Batch, view_batch
from ...protocol.records.layout import CODEC_MASK
from ..files.clock import Clock
from ..files.file_slice import FileSlice
from ..files.files import Files
from ..index.transaction_index import AbortedTransaction
from .segment import Segment
from .segments import Segments

LATEST = -1
EARLIEST = -2
SMALL_BYTES = 1024
"""The largest plain batch that is parsed in the event loop: it has at most some hundred records, of 5 µs each."""

FEW_ABORTED = 500
"""The most aborted transactions that are collected in the event loop, in about a millisecond."""
RUN = 4_096
"""The most transactions that are sorted in one call, since other threads stand still during it."""
_FIRST_OFFSET = itemgetter(1)


class LogForLookup(Protocol):
    """The attributes of a log that lookups read."""

    log_start_offset: int
    log_end_offset: int
    segments: Segments
    files: Files
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampOffset:
    """The timestamp and offset of a record; `leader_epoch` is -1 if its batch has none."""

    timestamp: int
    offset: int
    leader_epoch: int = -1


def offset_for_timestamp(segments: Segments, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The first record from `start_offset` on that is at or after `timestamp`."""
    return _first_record(batches_to_search(segments, timestamp, start_offset), timestamp, start_offset)


def max_timestamp_offset(segments: Segments) -> TimestampOffset | None:
    """The first record that has the largest timestamp of the log."""
    largest = max(segment.max_timestamp for segment in segments)
    return _first_record(batches_with_max_timestamp(segments), largest, 0)


Batches = Iterator[tuple[Segment, BatchHeader]]


def batches_to_search(segments: Segments, timestamp: int, start_offset: int) -> Batches:
    """The batches that may contain the first record at or after `timestamp`, in the order of the log."""
    segment = next((each for each in segments if each.largest_timestamp() >= timestamp), None)
    if segment is None:
        return
    from_offset = max(segment.time_index.offset_to_search_from(timestamp), start_offset - segment.base_offset)
    for header in segment.batches(segment.offset_index.position_of(from_offset)):
        if header.max_timestamp >= timestamp:
            yield segment, header


def batches_with_max_timestamp(segments: Segments) -> Batches:
    """The batches that may contain the first record with the largest timestamp, in the order of the log."""
    segment = max(segments, key=lambda segment: segment.max_timestamp)
    if segment.max_timestamp < 0:
        return
    position = segment.offset_index.position_of(segment.max_timestamp_offset - segment.base_offset)
    for header in segment.batches(position):
        if header.max_timestamp == segment.max_timestamp:
            yield segment, header


def is_first_batch_costly(batches: Batches) -> bool:
    """Whether the first of these batches takes long to search: it is compressed, or larger than `SMALL_BYTES`."""
    _, header = next(batches, (None, None))
    return header is not None and (header.size_bytes > SMALL_BYTES or bool(header.attributes & CODEC_MASK))


def _first_record(batches: Batches, timestamp: int, start_offset: int) -> TimestampOffset | None:
    for segment, header in batches:
        batch = view_batch(memoryview(segment.file.read(header.size_bytes, header.position)))
        is_small = header.size_bytes <= SMALL_BYTES and not header.attributes & CODEC_MASK
        find = _find_in_records if is_small else _find_in_columns
        found = find(batch, timestamp, start_offset)
        if found is not None:
            return TimestampOffset(timestamp=found[0], offset=found[1], leader_epoch=header.leader_epoch)
    return None


def _find_in_records(batch: Batch, timestamp: int, start_offset: int) -> tuple[int, int] | None:
    for record in batch.records():
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return record.timestamp, record.offset
    return None


def _find_in_columns(batch: Batch, timestamp: int, start_offset: int) -> tuple[int, int] | None:
    """Like `_find_in_records`, in a fraction of the time. If the batch is broken, it searches the records before."""
    from ...protocol.records.columns import ColumnFiller, WantedRows  # imported only when it is needed

    wanted = WantedRows(first_offset=start_offset, min_timestamp=timestamp, key=False, value=False, checked=False)
    filler = ColumnFiller(wanted)
    columns = filler.columns
    try:
        for _ in filler.fill(batch.data):
            timestamps = memoryview(columns.timestamps_buffer).cast("q")[: columns.rows].tolist()
            at = next((number for number, each in enumerate(timestamps) if each >= timestamp), None)
            if at is not None:
                return timestamps[at], memoryview(columns.offsets_buffer).cast("q")[at]
            columns.clear()
    except ApiError:
        return _find_in_records(batch, timestamp, start_offset)
    return None


def legacy_offsets_before(log: "LogForLookup", timestamp: int, max_count: int) -> list[int]:
    """The start offsets of segments last written at or before `timestamp`, newest first.

    If the active segment has data, the log end counts as one more, written now.
    """
    starts = [
        (max(segment.base_offset, log.log_start_offset), log.files.mtime_ms(segment.file.path))
        for segment in log.segments
    ]
    if log.segments.active.size:
        starts.append((log.log_end_offset, log.clock.now_ms()))
    if timestamp == LATEST:
        count = len(starts)
    elif timestamp == EARLIEST:
        count = 1
    else:
        count = next((at + 1 for at in reversed(range(len(starts))) if starts[at][1] <= timestamp), 0)
    offsets = [offset for offset, _ in starts[:count]]
    return sorted(offsets[::-1][: max(0, max_count)], reverse=True)


def find_aborted_transactions(
    segments: Segments, fetch_offset: int, found: FileSlice, log_end_offset: int
) -> list[tuple[int, int]]:
    """(producer id, first offset) of the aborted transactions that may have records in the slice `found`."""
    if not found.size_bytes:
        return []
    at = segments.index_of(found.segment_base_offset)
    if at < 0:
        return []
    upper = _upper_bound(segments, at, found, log_end_offset)
    aborted: list[tuple[int, int]] = []

    def take(transaction: AbortedTransaction) -> None:
        aborted.append((transaction.producer_id, transaction.first_offset))

    for segment in segments.from_index(at):
        if segment.transaction_index is not None and segment.transaction_index.collect(fetch_offset, upper, take):
            break
    runs = (sorted(aborted[at : at + RUN], key=_FIRST_OFFSET) for at in range(0, len(aborted), RUN))
    return list(merge(*runs, key=_FIRST_OFFSET))  # some clients only work with this order


def may_have_many_aborted(segments: Segments, found: FileSlice) -> bool:
    """Whether the segment of the slice and later ones have more than FEW_ABORTED aborted transactions."""
    count = 0
    for segment in segments.from_index(max(0, segments.index_of(found.segment_base_offset))):
        count += segment.transaction_index.count if segment.transaction_index is not None else 0
        if count > FEW_ABORTED:
            return True
    return False


def _upper_bound(segments: Segments, at: int, found: FileSlice, log_end_offset: int) -> int:
    segment = segments[at]
    indexed = segment.offset_index.offset_from_position(found.position + found.size_bytes)
    if indexed is not None:
        return segment.base_offset + indexed
    next_base = segments.next_base_offset(at)
    return log_end_offset if next_base is None else next_base
