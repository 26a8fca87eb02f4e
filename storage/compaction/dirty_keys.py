"""Puts the keys of a log's dirty part into the map of their highest offsets (Kafka 3.9, Cleaner.buildOffsetMap).

It stops early when the map is full: the log is then clean up to the last batch of which all keys were added, and the
next cleaning does the rest.
"""

from collections.abc import Iterator, Sequence

from ...protocol.errors import CorruptRecord
from ...protocol.records.batches import Batch, iter_batches
from ...protocol.records.compaction_loops import BROKEN, DONE, FULL, OffsetMap
from ...protocol.records.compression.codecs import decompress
from ...protocol.records.legacy_batch import LegacyBatch
from ..files.files import Files
from ..log.segment import Segment
from ..log.segment_windows import windows
from .aborted_transactions import CleanedTransactionMetadata


class DirtyKeys:
    """Fills `offsets` from the segments that reach [start, end)."""

    def __init__(
        self,
        offsets: OffsetMap,
        files: Files,
        aborted: CleanedTransactionMetadata,
        *,
        start: int,
        end: int,
        max_opened_bytes: int,
    ) -> None:
        """`aborted` already holds the aborted transactions of [start, end)."""
        self._offsets = offsets
        self._files = files
        self._aborted = aborted
        self._start = start
        self._end = end
        self._max_opened_bytes = max_opened_bytes

    def collect(self, segments: Sequence[Segment], window_bytes: int) -> Iterator[int]:
        """Yields the bytes read, after each window. Raises: CorruptRecord, RecordTooLarge, DiskFault."""
        for number, segment in enumerate(segments):
            position = segment.offset_index.position_of(self._start - segment.base_offset)
            for window in windows(self._files, segment, position, window_bytes):
                is_full = not self._collect_window(window)
                yield len(window)
                if is_full:
                    return
            is_last = number + 1 == len(segments)
            next_base = self._end if is_last else segments[number + 1].base_offset
            # Offsets in a gap after the last batch have no records, so they count as read.
            self._offsets.latest_offset = max(self._offsets.latest_offset, next_base - 1)

    def _collect_window(self, window: memoryview) -> bool:
        """Puts the keys of the window into the map; returns whether all of them fitted."""
        at = 0
        while True:
            status, at = self._offsets.note_batches(window, at, self._start)
            if status == DONE:
                return True
            if status == FULL:
                return False
            batch = next(iter_batches(window[at:]))
            if status == BROKEN:
                raise CorruptRecord(f"the batch at offset {batch.base_offset} has a wrong checksum or a broken record")
            if not self._collect_batch(batch):
                return False
            at += batch.size_bytes

    def _collect_batch(self, batch: Batch) -> bool:
        batch.ensure_valid()
        if isinstance(batch, LegacyBatch):
            has_room = self._collect_messages(batch)
        elif batch.is_control:
            self._aborted.can_discard_control_batch(batch)
            has_room = True
        elif self._aborted.is_aborted(batch) or not batch.record_count:
            has_room = True
        else:
            opened = decompress(batch.codec, batch.body, magic=batch.magic, max_bytes=self._max_opened_bytes)
            status = self._offsets.note_records(opened, batch.record_count, batch.base_offset, self._start)
            if status == BROKEN:
                raise CorruptRecord(f"the batch at offset {batch.base_offset} has a broken record")
            has_room = status == DONE
        if has_room and batch.last_offset >= self._start:
            self._offsets.latest_offset = max(self._offsets.latest_offset, batch.last_offset)
        return has_room

    def _collect_messages(self, batch: LegacyBatch) -> bool:
        for record in batch.records(self._max_opened_bytes):
            is_noted = record.key is not None and record.offset >= self._start
            if is_noted and not self._offsets.put(record.key or b"", record.offset):
                return False
        return True
