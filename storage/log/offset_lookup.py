"""Finding offsets by time, and the aborted transactions in what was read.

Source: Kafka 3.9 `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp`,
`UnifiedLog.legacyFetchOffsetsBefore`, `LocalLog.collectAbortedTransactions`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.batches import view
from ...protocol.records.record import Record
from ..files.clock import Clock
from ..files.file_slice import FileSlice
from ..files.files import Files
from ..index.transaction_index import AbortedTransaction
from .segment import Segment
from .segments import Segments

LATEST = -1
EARLIEST = -2


class Bounds(Protocol):
    """What is looked at of a log."""

    log_start_offset: int
    log_end_offset: int
    segments: Segments
    files: Files
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampOffset:
    """A record's place in time and in the log; `leader_epoch` is -1 where its batch has none."""

    timestamp: int
    offset: int
    leader_epoch: int = -1


def offset_for_timestamp(segments: Segments, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """The first record from `start_offset` on that is not before `timestamp`."""
    for segment in segments:
        if segment.largest_timestamp() >= timestamp:
            return _find(segment, timestamp, start_offset)
    return None


def _find(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    base = segment.base_offset
    from_offset = max(segment.time_index.offset_before(timestamp), start_offset - base)
    for header in segment.batches(segment.offset_index.position_of(from_offset)):
        if header.max_timestamp < timestamp:
            continue
        for record in _records(segment, header):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(
                    timestamp=record.timestamp, offset=record.offset, leader_epoch=header.leader_epoch
                )
    return None


def max_timestamp_offset(segments: Segments) -> TimestampOffset | None:
    """The first record that has the largest timestamp of the log."""
    segment = max(segments, key=lambda segment: segment.max_timestamp)
    largest = segment.max_timestamp
    if largest < 0:
        return None
    position = segment.offset_index.position_of(segment.max_timestamp_offset - segment.base_offset)
    for header in segment.batches(position):
        if header.max_timestamp == largest:
            for record in _records(segment, header):
                if record.timestamp == largest:
                    return TimestampOffset(timestamp=largest, offset=record.offset, leader_epoch=header.leader_epoch)
    return None


def _records(segment: Segment, header: BatchHeader) -> Iterator[Record]:
    return view(memoryview(segment.file.read(header.size_bytes, header.position))).records()


def legacy_offsets_before(log: "Bounds", timestamp: int, max_count: int) -> list[int]:
    """The starts of segments last written at or before `timestamp`, newest first; also the end of a log not empty."""
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
    """(producer id, first offset) of the transactions whose records the slice may have."""
    if not found.size_bytes:
        return []
    at = segments.index_of(found.segment_base_offset)
    if at < 0:
        return []
    upper = _upper_bound(segments, at, found, log_end_offset)
    aborted: list[AbortedTransaction] = []
    for segment in segments.from_number(at):
        if segment.transaction_index is not None and segment.transaction_index.collect(fetch_offset, upper, aborted):
            break
    aborted.sort(key=lambda transaction: transaction.first_offset)  # some clients take them in this order only
    return [(transaction.producer_id, transaction.first_offset) for transaction in aborted]


def _upper_bound(segments: Segments, at: int, found: FileSlice, log_end_offset: int) -> int:
    segment = segments[at]
    indexed = segment.offset_index.first_from_position(found.position + found.size_bytes)
    if indexed is not None:
        return segment.base_offset + indexed
    next_base = segments.end_of(at)
    return log_end_offset if next_base is None else next_base
