"""Reads a log: slices by offset, offsets by time and epoch, aborted transactions."""

from ...protocol.errors import ApiError, ErrorCode
from ..files.clock import Clock
from ..files.file_slice import EMPTY_SLICE, FileSlice
from ..files.files import Files
from ..producers.producer_tracking import ProducerTracking
from . import offset_lookup as lookups
from .leader_epochs import EpochEntry, LeaderEpochs
from .segments import Segments


class LogReading:
    """The methods of a `Log` that only read."""

    __slots__ = ()

    topic: str
    partition: int
    files: Files
    clock: Clock
    segments: Segments
    epochs: LeaderEpochs
    producers: ProducerTracking
    log_start_offset: int
    log_end_offset: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    def read(
        self, offset: int, max_bytes: int, *, below: int, min_one_message: bool = False, allow_partial: bool = False
    ) -> FileSlice:
        """A slice that begins with the batch that contains `offset` and ends below the offset `below`.

        With `min_one_message` it has the whole first batch even if that is larger than `max_bytes` (KIP-74). Otherwise
        such a batch is cut with `allow_partial` (Fetch before v3), and without it the slice is empty.

        Raises: ApiError OFFSET_OUT_OF_RANGE; CorruptRecord, DiskFault.
        """
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end:
            raise ApiError(
                f"{self.name}: offset {offset} is not in [{self.log_start_offset}, {end}]",
                ErrorCode.OFFSET_OUT_OF_RANGE,
            )
        if offset >= below or offset == end:
            return EMPTY_SLICE
        for at, segment in self.segments.from_offset(offset):
            visible_bytes = segment.size if below >= end else self._bytes_below(at, below)
            found = segment.read(offset, max_bytes, visible_bytes, min_one_message, allow_partial)
            if found is not None:
                return found if found.size_bytes else EMPTY_SLICE
        return EMPTY_SLICE

    def segment_base_of(self, offset: int) -> int:
        """The base offset of the segment that contains `offset`, or will contain it."""
        return self.segments[max(0, self.segments.index_of(offset))].base_offset

    def _bytes_below(self, at: int, below: int) -> int:
        """The number of bytes in segment number `at` that lie below the offset `below`."""
        segment = self.segments[at]
        next_base = self.segments.next_base_offset(at)
        if below >= (self.log_end_offset if next_base is None else next_base):
            return segment.size
        place = segment.locate(below) if below > segment.base_offset else None
        if place is not None:
            return place.position
        return segment.size if below > segment.base_offset else 0

    def aborted_transactions(self, fetch_offset: int, found: FileSlice) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that may have records in the slice `found`."""
        return lookups.find_aborted_transactions(self.segments, fetch_offset, found, self.log_end_offset)

    def may_have_many_aborted(self, found: FileSlice) -> bool:
        """Whether `aborted_transactions` needs a worker thread: 50 MB may have 330,000 of them, which take 0.5 s."""
        return lookups.may_have_many_aborted(self.segments, found)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the earliest transaction that is open or not yet replicated; None when there is none."""
        return self.producers.state.first_unstable_offset

    def note_high_watermark(self, high_watermark: int) -> None:
        """Treats transactions whose markers are below it as stable."""
        self.producers.state.note_high_watermark(high_watermark)

    # Looking up

    def offset_for_timestamp(self, timestamp: int) -> lookups.TimestampOffset | None:
        """The first record at or after `timestamp`; None when all are before it.

        Raises: CorruptRecord, InvalidRecord, DiskFault.
        """
        return lookups.offset_for_timestamp(self.segments, timestamp, self.log_start_offset)

    def is_lookup_costly(self, timestamp: int | None) -> bool:
        """Whether `offset_for_timestamp`, or for None `max_timestamp_offset`, needs a worker thread."""
        if timestamp is None:
            return lookups.is_first_batch_costly(lookups.batches_with_max_timestamp(self.segments))
        return lookups.is_first_batch_costly(lookups.batches_to_search(self.segments, timestamp, self.log_start_offset))

    def max_timestamp_offset(self) -> lookups.TimestampOffset | None:
        """The record with the largest timestamp; None in a log without timestamps.

        Raises: CorruptRecord, InvalidRecord, DiskFault.
        """
        return lookups.max_timestamp_offset(self.segments)

    def legacy_offsets_before(self, timestamp: int, max_count: int) -> list[int]:
        """ListOffsets v0: segment starts written at or before `timestamp` (-1 latest, -2 earliest), newest first."""
        return lookups.legacy_offsets_before(self, timestamp, max_count)

    def end_offset_for_epoch(self, epoch: int) -> EpochEntry:
        """The largest epoch at or below `epoch` and its end offset (exclusive); (-1, -1) when it is not known."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)
