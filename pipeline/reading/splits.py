"""What a task reads: a run of whole batches of one segment, cut where the offset index says that a batch starts.

A segment whose index is missing or wrong is cut by walking over its batch headers, which costs more and gives the same
rows. Batches outside the wanted offsets, and segments of older records only, are left out.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...protocol.errors import CorruptRecord
from ...protocol.records.layout import CODEC_MASK
from ...storage.index.transaction_index import AbortedTransaction
from ...storage.log.batch_scan import batch_headers
from ..places.place_files import PlaceFiles
from .compressed_chunks import ChunkLayout
from .damage import Damage, missing_offsets_damage
from .index_files import OffsetIndexEntries, largest_timestamp, offset_entries
from .log_losses import loss_of_whole_log
from .partition_segments import PartitionSegments
from .segment_location import SegmentFile

MAX_OFFSET = (1 << 63) - 1
DEFAULT_SPLIT_BYTES = 32 << 20
MAX_TAIL_BYTES = 4 << 20
"""How much may lie after the last index entry: an interval, and a batch or two of the largest size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Bytes `start` to `end` (open) of a segment file; rows are those of offsets `first_offset` to `end_offset` (open).

    Batches that hold only records older than `min_timestamp` (ms) may be skipped; None: none. `ends_log`: the bytes
    reach to the end of the newest segment, where a torn batch ends the log. Batches of `aborted` are left out.

    `expects` is the offset that the bytes begin with, `next_offset` the one that follows them, None where only the
    file tells them; offsets below `compacted_to` may be missing. The segment has `segment_bytes`, and is the object of
    this `version`.
    """

    topic: str
    partition: int
    path: str
    base_offset: int
    start: int
    end: int
    first_offset: int
    end_offset: int
    min_timestamp: int | None = None
    ends_log: bool = False
    segment_bytes: int = 0
    expects: int | None = None
    next_offset: int | None = None
    compacted_to: int = 0
    chunks: ChunkLayout | None = None
    version: Hashable = None
    aborted: tuple[AbortedTransaction, ...] = ()

    @property
    def size_bytes(self) -> int:
        return self.end - self.start

    @property
    def ends_segment(self) -> bool:
        return self.end >= self.segment_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsToRead:
    """Offsets of one partition from `first` to `end` (open), without the batches of `aborted`."""

    first: int = 0
    end: int = MAX_OFFSET
    aborted: tuple[AbortedTransaction, ...] = ()


@dataclass(slots=True)
class SplitPlanner:
    """Plans splits of at most `max_bytes` where batches allow it.

    `warnings` has a line for each wrong index, `losses` the wanted offsets for which there is nothing to read.
    """

    files: PlaceFiles
    max_bytes: int = DEFAULT_SPLIT_BYTES
    min_timestamp: int | None = None
    warnings: list[str] = field(default_factory=list)
    losses: list[Damage] = field(default_factory=list)

    def plan_splits(self, log: PartitionSegments, wanted: OffsetsToRead) -> Iterator[Split]:
        """The splits of one log, in the order of their offsets. Raises: DiskFault."""
        first, end = max(wanted.first, log.start_offset), wanted.end
        if first >= end:
            return
        self._look_for_losses(log, first, end)
        for segment in log.segments:
            behind = segment.next_base is not None and segment.next_base <= first
            if (
                behind
                or segment.base_offset >= end
                or not segment.bytes_to_read
                or self._is_before_wanted_time(segment)
            ):
                continue
            next_offset = log.known_end if segment.next_base is None else segment.next_base
            aborted = tuple(each for each in wanted.aborted if _lies_in_segment(each, segment))
            for start, stop in self._plan_cuts(segment, first, end):
                yield Split(
                    topic=log.topic,
                    partition=log.partition,
                    path=segment.path,
                    chunks=segment.chunks,
                    version=segment.version,
                    base_offset=segment.base_offset,
                    start=start,
                    end=stop,
                    first_offset=first,
                    end_offset=end,
                    min_timestamp=self.min_timestamp,
                    ends_log=segment.is_newest and stop == segment.size_bytes,
                    segment_bytes=segment.size_bytes,
                    expects=segment.first_offset if start == segment.start else None,
                    next_offset=next_offset,
                    compacted_to=log.compacted_to,
                    aborted=aborted,
                )

    def _look_for_losses(self, log: PartitionSegments, first: int, end: int) -> None:
        """Note the offsets from `first` up to, but without, `end` that no file can hold.

        Other missing offsets are found when the files are read.
        """
        if not log.segments:
            self.losses.append(loss_of_whole_log(log, first))
            return
        holes = [(first, log.segments[0].first_offset, "the first segment begins after them")]
        for segment in log.segments:
            if not segment.bytes_to_read:
                next_offset = log.known_end if segment.next_base is None else segment.next_base
                holes.append((segment.first_offset, next_offset, f"{segment.path} is empty"))
        for hole_first, hole_end, where in holes:
            lost, lost_end = max(hole_first, first, log.compacted_to), min(hole_end, end)
            if lost < lost_end:
                self.losses.append(missing_offsets_damage(log.topic, log.partition, lost, lost_end, where))

    def _is_before_wanted_time(self, segment: SegmentFile) -> bool:
        """Whether no record can be at or after the wanted time; a log's newest segment has no last time entry yet."""
        if self.min_timestamp is None or self.min_timestamp <= 0 or segment.is_newest:
            return False
        largest = largest_timestamp(self.files, segment)
        if largest is None or largest >= self.min_timestamp:
            return False
        tail = self._max_timestamp_of_tail(segment)
        if tail is not None and tail > largest:
            self.warnings.append(f"{segment.path}: its time index ends before its last batches; not used")
        return tail is not None and tail <= largest

    def _max_timestamp_of_tail(self, segment: SegmentFile) -> int | None:
        """The largest timestamp (ms) from the last index entry on, None where nothing says where that is."""
        entries = offset_entries(self.files, segment)
        start = max(int(entries.positions[-1]) if len(entries) else 0, segment.start)
        if not 0 <= segment.size_bytes - start <= MAX_TAIL_BYTES:
            return None
        file = segment.open(self.files)
        try:
            return max(
                (header.max_timestamp for header in batch_headers(file, start, segment.size_bytes)), default=None
            )
        except CorruptRecord:
            return None
        finally:
            file.close()

    def _plan_cuts(self, segment: SegmentFile, first: int, end: int) -> Sequence[tuple[int, int]]:
        whole = segment.bytes_to_read <= self.max_bytes and segment.base_offset >= first
        if whole and (segment.next_base is None or segment.next_base <= end):
            return [(segment.start, segment.size_bytes)]
        entries = offset_entries(self.files, segment)
        cuts = _cut_positions(entries, segment, first, end, self.max_bytes)
        if not entries and segment.bytes_to_read > self.max_bytes:
            return self._find_cuts_in_headers(segment)
        wrong = next((cut for cut in cuts if not _is_batch_at_cut(self.files, segment, entries, cut)), None)
        if wrong is None:
            return list(pairwise(cuts))
        self.warnings.append(f"{segment.path}: its index names position {wrong}, where no such batch starts; not used")
        return self._find_cuts_in_headers(segment)

    def _find_cuts_in_headers(self, segment: SegmentFile) -> Sequence[tuple[int, int]]:
        """Cuts found in the headers; after damage the rest is one piece, whose reader reports it."""
        cuts = [segment.start]
        file = segment.open(self.files)
        try:
            for header in batch_headers(file, segment.start, segment.size_bytes):
                if header.end - cuts[-1] > self.max_bytes and header.position > cuts[-1]:
                    cuts.append(header.position)
        except CorruptRecord:
            pass
        finally:
            file.close()
        cuts.append(segment.size_bytes)
        return list(pairwise(cuts))


def _lies_in_segment(aborted: AbortedTransaction, segment: SegmentFile) -> bool:
    behind = MAX_OFFSET if segment.next_base is None else segment.next_base
    return aborted.first_offset < behind and aborted.last_offset >= segment.first_offset


def _cut_positions(
    entries: OffsetIndexEntries, segment: SegmentFile, first: int, end: int, max_bytes: int
) -> list[int]:
    """The positions to cut at: where to begin, then as far as `max_bytes` goes each time, and where to end."""
    before = int(np.searchsorted(entries.offsets, first, "right")) - 1
    start = max(int(entries.positions[before]), segment.start) if before >= 0 else segment.start
    # What lies before entry n ends below its offset, and the set after entry n starts above it.
    after = int(np.searchsorted(entries.offsets, end - 1, "left")) + 1
    stop = min(int(entries.positions[after]), segment.size_bytes) if after < len(entries) else segment.size_bytes
    cuts = [start]
    while stop - cuts[-1] > max_bytes:
        at = int(np.searchsorted(entries.positions, cuts[-1] + max_bytes, "right")) - 1
        if at < 0 or entries.positions[at] <= cuts[-1]:
            at += 1  # one set is larger than a split
        if at >= len(entries) or entries.positions[at] >= stop:
            break
        cuts.append(int(entries.positions[at]))
    return [*cuts, stop]


def _is_batch_at_cut(files: PlaceFiles, segment: SegmentFile, entries: OffsetIndexEntries, cut: int) -> bool:
    """Whether a batch starts at the cut whose offsets lie between the entry before and the cut's own.

    Brokers before 0.11 note the first offset of a compressed batch, whose header names its last one.
    """
    if cut in (segment.start, segment.size_bytes):
        return True
    if cut > segment.size_bytes:
        return False
    at = int(np.searchsorted(entries.positions, cut))
    file = segment.open(files)
    try:
        header = next(batch_headers(file, cut, segment.size_bytes), None)
    except CorruptRecord:
        return False
    finally:
        file.close()
    if header is None or header.magic > 2:
        return False
    above = int(entries.offsets[at - 1]) if at else segment.base_offset - 1
    is_wrapper = header.magic < 2 and header.attributes & CODEC_MASK
    return above < header.base_offset and (bool(is_wrapper) or header.base_offset <= int(entries.offsets[at]))
