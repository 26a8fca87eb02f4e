"""One cleaning of one log: of each key in the dirty part, only the last record is kept, up to the end of that part.

    1. put the keys of the dirty part into the offset map       `dirty_keys.py`
    2. for each group of segments, from the log's first to where the map ended:
         copy the retained records into `<base>.*.cleaned`      `protocol/records/compaction_loops.py`,
                                                                `record_filter.py`
         sync the copy, put it in place of the group            `segment_replacement.py`

Offsets never change. Any thread may do the steps, one at a time, but only the thread that appends to the log may put
a segment in place. Memory: the map (24 bytes a key, within a limit), two buffers, and one decompressed batch. Source:
Kafka 3.9, LogCleaner.
"""

import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch_header import parse_batch_header
from ...protocol.records.batches import iter_batches
from ...protocol.records.compaction_loops import BROKEN, DONE, NO_ROOM, SECRET_BYTES, SLOT_BYTES, OffsetMap
from ..files.file_handle import Buffer
from ..index.transaction_index import AbortedTransaction
from ..log.log_config import FOREVER, LogConfig
from ..log.segment import Segment
from ..log.segment_windows import windows
from .aborted_transactions import CleanedTransactionMetadata
from .cleanable_range import CleanableRange
from .dirty_keys import DirtyKeys
from .record_filter import CleaningTerms, LastRecord, RecordFilter
from .segment_groups import group_segments
from .segment_replacement import CleanedSegment

NO_STOP = 1 << 62
SLOTS_AT_LEAST = 16
# Bytes that are collected before they are appended; each append gets at most one index entry.
OUT_BYTES = 64 * 1024
ROOM_A_RECORD = 2  # what `sift` asks for in the worst case: 12 bytes more for a record of 7


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionLimits:
    """`map_bytes`: memory of the offset map, of whose slots the part `load_factor` is used. `io_bytes`: read buffer."""

    map_bytes: int
    load_factor: float
    io_bytes: int
    max_opened_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentExchange:
    """An order to put `cleaned`, which is complete, in place of `replaced`."""

    cleaned: CleanedSegment
    replaced: Sequence[Segment]


class Compaction:
    """One cleaning. It is constructed in the thread that appends to the log; `steps` may then run in another."""

    def __init__(self, cleanable: CleanableRange, limits: CompactionLimits, now_ms: int) -> None:
        log = self._log = cleanable.log
        self._cleanable = cleanable
        self._limits = limits
        self._segments = list(log.segments)
        self._config = log.config
        self._now_ms = now_ms
        self._producers = log.producers.state.capture()
        self._offsets = self._make_offset_map()
        self.bytes_written = 0

    def _make_offset_map(self) -> OffsetMap:
        """An empty map, no larger than the dirty part can need and the limits allow."""
        most_slots = max(SLOTS_AT_LEAST, self._limits.map_bytes // SLOT_BYTES)
        offsets = max(1, self._cleanable.end - self._cleanable.first_dirty)
        slots = min(most_slots, int(offsets / self._limits.load_factor) + SLOTS_AT_LEAST)
        return OffsetMap(slots, max(1, int(slots * self._limits.load_factor)), secrets.token_bytes(SECRET_BYTES))

    @cached_property
    def _cleaning_terms(self) -> CleaningTerms:
        return CleaningTerms(
            now_ms=self._now_ms,
            horizon_ms=min(self._now_ms + self._config.delete_retention_ms, FOREVER),
            max_opened_bytes=self._limits.max_opened_bytes,
            producers={
                entry.producer_id: LastRecord(data_offset=entry.last_data_offset, epoch=entry.epoch)
                for entry in self._producers
            },
        )

    @cached_property
    def _last_producer_offsets(self) -> list[int]:
        """The last offset of each producer, sorted; the compiled loop leaves batches that end at one to Python."""
        return sorted(last.data_offset for last in self._cleaning_terms.producers.values() if last.data_offset >= 0)

    @property
    def clean_end(self) -> int:
        """The offset below which the log is clean once all steps are done."""
        return max(self._cleanable.first_dirty, self._offsets.latest_offset + 1)

    @property
    def records_read(self) -> int:
        return self._offsets.records_read

    @property
    def records_kept(self) -> int:
        return self._offsets.records_kept

    def steps(self) -> Generator[int | SegmentExchange, None, None]:
        """Yields the bytes read and written by each step, and the exchanges that the caller has to carry out.

        Raises: CorruptRecord, RecordTooLarge, DiskFault.
        """
        yield from self._fill_map()
        end = self.clean_end
        if end == self._cleanable.first_dirty:
            return
        concerned = [segment for segment in self._segments if segment.base_offset < min(end, self._cleanable.end)]
        legacy_horizon_ms = self._legacy_horizon_ms()
        aborted = CleanedTransactionMetadata()
        record_filter = RecordFilter(self._offsets, aborted, self._cleaning_terms)
        for group in group_segments(concerned, self._cleanable.end, self._config):
            yield from self._clean_group(group, aborted, record_filter, legacy_horizon_ms)

    def _fill_map(self) -> Iterator[int]:
        start, end = self._cleanable.first_dirty, self._cleanable.end
        aborted = CleanedTransactionMetadata()
        aborted.add_aborted_transactions(self._find_aborted_transactions(start, end))
        keys = DirtyKeys(
            self._offsets,
            self._log.files,
            aborted,
            start=start,
            end=end,
            max_opened_bytes=self._limits.max_opened_bytes,
        )
        yield from keys.collect(self._segments_reaching(start, end), self._limits.io_bytes)

    def _segments_reaching(self, start: int, end: int | None = None) -> list[Segment]:
        first = max(0, bisect_right(self._segments, start, key=attrgetter("base_offset")) - 1)
        return [segment for segment in self._segments[first:] if end is None or segment.base_offset < end]

    def _find_aborted_transactions(self, start: int, end: int) -> list[AbortedTransaction]:
        found: list[AbortedTransaction] = []
        for segment in self._segments_reaching(start):
            index = segment.transaction_index
            if index is not None and index.collect(start, end, found.append):
                break
        return found

    def _legacy_horizon_ms(self) -> int:
        clean = [segment for segment in self._segments if segment.base_offset < self._cleanable.first_dirty]
        if not clean:
            return 0
        return self._mtime_ms(clean[-1]) - self._config.delete_retention_ms

    def _mtime_ms(self, segment: Segment) -> int:
        return self._log.files.mtime_ms(segment.file.path)

    # A group of segments

    def _clean_group(
        self,
        group: Sequence[Segment],
        aborted: CleanedTransactionMetadata,
        record_filter: RecordFilter,
        legacy_horizon_ms: int,
    ) -> Iterator[int | SegmentExchange]:
        cleaned = CleanedSegment.begin(
            self._log.files, self._log.directory, group[0].base_offset, self._cleaning_terms.now_ms
        )
        try:
            yield from self._copy_retained_records(group, cleaned, aborted, record_filter, legacy_horizon_ms)
            cleaned.complete(self._mtime_ms(group[-1]))
            self.bytes_written += cleaned.size
            yield SegmentExchange(cleaned=cleaned, replaced=group)
        except BaseException:
            cleaned.discard()
            raise

    def _copy_retained_records(
        self,
        group: Sequence[Segment],
        cleaned: CleanedSegment,
        aborted: CleanedTransactionMetadata,
        record_filter: RecordFilter,
        legacy_horizon_ms: int,
    ) -> Iterator[int]:
        writer = _CleanedSegmentWriter(cleaned, self._config)
        for segment in group:
            record_filter.keeps_old_tombstones = self._mtime_ms(segment) > legacy_horizon_ms
            next_base = self._segments[self._segments.index(segment) + 1].base_offset
            aborted.add_aborted_transactions(self._find_aborted_transactions(segment.base_offset, next_base))
            for window in windows(self._log.files, segment, 0, self._limits.io_bytes):
                written = writer.bytes_written
                self._sift(window, record_filter, writer)
                yield len(window) + writer.bytes_written - written
        writer.flush()
        for each in aborted.take_retained_transactions():
            cleaned.ensure_transaction_index().append(each)

    def _sift(self, window: memoryview, record_filter: RecordFilter, writer: "_CleanedSegmentWriter") -> None:
        at = 0
        while True:
            stop = self._next_producer_offset(window, at)
            status, at = writer.sift(self._offsets, window, at, stop, self._cleaning_terms)
            if status == DONE:
                return
            if status == NO_ROOM:
                writer.make_room(_batch_size_at(window, at))
                continue
            batch = next(iter_batches(window[at:]))
            if status == BROKEN:
                raise CorruptRecord(f"the batch at offset {batch.base_offset} has a wrong checksum or a broken record")
            left = record_filter.filter_batch(batch)
            if left is not None:
                writer.add_batch(left)
            at += batch.size_bytes

    def _next_producer_offset(self, window: memoryview, at: int) -> int:
        if at >= len(window) or not self._last_producer_offsets:
            return NO_STOP
        first_offset = int.from_bytes(window[at : at + 8], "big")
        number = bisect_left(self._last_producer_offsets, first_offset)
        return self._last_producer_offsets[number] if number < len(self._last_producer_offsets) else NO_STOP


def _batch_size_at(window: memoryview, at: int) -> int:
    return int.from_bytes(window[at + 8 : at + 12], "big") + 12


class _CleanedSegmentWriter:
    """Collects retained batches and appends them, with index entries, to the cleaned segment."""

    def __init__(self, cleaned: CleanedSegment, config: LogConfig) -> None:
        self._cleaned = cleaned
        self._buffer = bytearray(2 * OUT_BYTES)
        self._filled = 0
        self._last_offset = self._max_timestamp = self._max_timestamp_offset = -1
        self.bytes_written = 0
        self._config = config

    def sift(self, offsets: OffsetMap, window: memoryview, at: int, stop: int, terms: CleaningTerms) -> tuple[int, int]:
        """Copies retained batches until the window ends or Python has to help; returns the status and position."""
        offsets.forget_written_batches()
        status, at, self._filled = offsets.copy_retained_batches(
            window, at, self._buffer, self._filled, stop, terms.now_ms, terms.horizon_ms
        )
        if offsets.written_last_offset >= 0:
            self._note_last_batch(
                offsets.written_last_offset, offsets.written_max_timestamp, offsets.written_max_timestamp_offset
            )
        return status, at

    def make_room(self, batch_bytes: int) -> None:
        """Makes room for a batch of that size."""
        self.flush()
        needed = batch_bytes * (1 + ROOM_A_RECORD)
        if len(self._buffer) < needed:
            self._buffer = bytearray(needed)

    def add_batch(self, data: Buffer) -> None:
        if self._filled + len(data) > len(self._buffer):
            self.make_room(len(data))
        header = parse_batch_header(data, 0, 0)
        self._buffer[self._filled : self._filled + len(data)] = data
        self._filled += len(data)
        self._note_last_batch(header.last_offset, header.max_timestamp, header.last_offset)
        if self._filled >= OUT_BYTES:
            self.flush()

    def _note_last_batch(self, last_offset: int, max_timestamp: int, max_timestamp_offset: int) -> None:
        self._last_offset = last_offset
        if max_timestamp > self._max_timestamp:
            self._max_timestamp, self._max_timestamp_offset = max_timestamp, max_timestamp_offset

    def flush(self) -> None:
        """Raises: DiskFault."""
        if not self._filled:
            return
        self._cleaned.append(
            [memoryview(self._buffer)[: self._filled]],
            self._filled,
            first_offset=self._last_offset,
            last_offset=self._last_offset,
            max_timestamp=self._max_timestamp,
            max_timestamp_offset=self._max_timestamp_offset,
            config=self._config,
        )
        self.bytes_written += self._filled
        self._filled = 0
        self._max_timestamp = -1
