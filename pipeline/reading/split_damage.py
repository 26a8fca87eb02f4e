"""Checks a split while it is read, for broken batches, missing offsets, offsets that the next segment has, too, and a
file that went away. Each is an error or, where the reader may go on, noted.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader, parse_batch_header
from ...protocol.records.columns import ColumnFiller, WantedRows
from ...protocol.records.kernel.columns import RecordColumns
from ...protocol.records.layout import CODEC_MASK, HEADER_SIZE_UP_TO_MAGIC, MAGIC_V2, RECORD_BATCH_OVERHEAD
from ...storage.files.file_handle import ReadableFile
from ..failures import PipelineFailure
from .batch_search import BatchSearch
from .damage import CORRUPT, DELETED, OVERLAPPING, Damage, missing_offsets_damage, raise_or_keep_loss
from .log_losses import HAD_THEM
from .offset_continuity import Gap, OffsetContinuity, has_thinned_batch
from .splits import Split


@dataclass(slots=True)
class DamagePolicy:
    """Which damage a reader may skip, and what it skipped. Without `follows_offsets` it ignores missing offsets."""

    skip_corrupt: bool = False
    fail_on_data_loss: bool = True
    follows_offsets: bool = True
    skipped: list[Damage] = field(default_factory=list)


class SplitDamageCheck:
    """Looks for damage while a split is read. All methods raise PipelineFailure or DataLoss for damage that is not
    allowed."""

    def __init__(self, split: Split, file: ReadableFile, leniency: DamagePolicy) -> None:
        self._split = split
        self._file = file
        self._leniency = leniency
        self._continuity = OffsetContinuity(
            file,
            expected=split.expects,
            first=split.first_offset,
            begins_in_batch=split.expects not in (None, split.base_offset),
        )
        self._is_after_corruption = False

    def add_rows(self, columns: RecordColumns) -> None:
        """Look at the rows that came since the last call, before they are cleared."""
        if self._leniency.follows_offsets:
            self._continuity.add_rows(columns)

    def forget_columns(self) -> None:
        """The columns are empty again."""
        self._continuity.forget_columns()

    def end_window(self, data: memoryview, position: int) -> None:
        """Look for gaps between whole batches, which lie at `position` of the file; their rows were taken."""
        if not self._leniency.follows_offsets:
            return
        for gap in self._continuity.end_window(data, position):
            self._report_gap(gap, "no batch has them")
        if len(data):
            self._set_end_of_corruption(self._continuity.window_first)

    def check_header(self, header: BatchHeader) -> None:
        """Look at a batch of which nothing but the header is read."""
        if not self._leniency.follows_offsets:
            return
        gap = self._continuity.check_header(header)
        if gap is not None:
            self._report_gap(gap, "no batch has them")
        self._set_end_of_corruption(header.base_offset)

    def end_split(self) -> None:
        """Look at what follows: the next batch of the segment, or the next segment."""
        split = self._split
        is_past_all = (self._continuity.expected or 0) >= split.end_offset
        if is_past_all or not self._leniency.follows_offsets:
            return
        following, where = split.next_offset, "the next segment begins after them"
        if not split.ends_segment:
            following, where = self._first_offset_after_split(), "no batch has them"
        elif split.ends_log:
            where = HAD_THEM
        if following is None:
            return
        gap = self._continuity.take_gap_before(following, split.end)
        if gap is not None:
            self._report_gap(gap, where)
        expected = self._continuity.expected
        if split.ends_segment and not split.ends_log and expected is not None and expected > following:
            self._note_overlap(following, expected)

    def find_batch_after_damage(self, position: int, size: int | None) -> int | None:
        """Where the batch after a broken one begins, which its frame may know; None where there is none."""
        end = self._split.end
        search = BatchSearch(self._file, end=end, base_offset=self._split.base_offset)
        if size is not None and (position + size == end or search.begins_batch(position + size)):
            return position + size
        return search.find_batch(position + 1)

    def note_corruption(self, position: int, size: int, base_offset: int, reason: object) -> None:
        """Bytes that are no batch."""
        damage = self._make_damage(
            CORRUPT,
            f"base offset {base_offset}: {reason}",
            position=position,
            size_bytes=size,
            first_offset=self._continuity.next_offset_after_all_batches(),
        )
        if not self._leniency.skip_corrupt:
            raise PipelineFailure(str(damage))
        self._leniency.skipped.append(damage)
        self._is_after_corruption = True

    def report_lost_file(self, position: int, reason: str) -> None:
        """The file went away, or became shorter, after the query was planned."""
        first = self._continuity.expected
        damage = self._make_damage(DELETED, f"{self._split.path}: {reason}", position=position, first_offset=first)
        raise_or_keep_loss(damage, is_failure=self._leniency.fail_on_data_loss, keep=self._leniency.skipped.append)

    def _report_gap(self, gap: Gap, where: str) -> None:
        """Report a gap, unless compaction explains it, nobody asked for it, or a broken batch had the offsets."""
        split = self._split
        first = max(gap.first, split.first_offset, split.compacted_to)
        end = min(gap.end, split.end_offset)
        if self._is_after_corruption and not gap.is_overlap:
            self._set_end_of_corruption(gap.end)
        elif gap.is_overlap and gap.end > split.first_offset:
            self._note_overlap(gap.first, gap.end)
        elif first < end and not gap.is_overlap and not self._is_compacted():
            damage = missing_offsets_damage(
                split.topic, split.partition, first, end, where, file=split.path, position=gap.position
            )
            raise_or_keep_loss(damage, is_failure=self._leniency.fail_on_data_loss, keep=self._leniency.skipped.append)

    def _set_end_of_corruption(self, following: int | None) -> None:
        """A broken batch had at most the offsets below those that follow it."""
        if self._is_after_corruption:
            self._is_after_corruption = False
            self._leniency.skipped[-1] = replace(self._leniency.skipped[-1], end_offset=following)

    def _is_compacted(self) -> bool:
        continuity = self._continuity
        if not continuity.has_thinned_batch:
            continuity.has_thinned_batch = has_thinned_batch(self._file, self._split.segment_bytes)
        return continuity.has_thinned_batch

    def _note_overlap(self, first: int, end: int) -> None:
        damage = self._make_damage(
            OVERLAPPING,
            f"offsets {first} to {end - 1} are in {self._split.path} and in the segment before or after it",
            first_offset=first,
            end_offset=end,
        )
        if not self._leniency.skip_corrupt:
            raise PipelineFailure(f"{damage}; skipCorrupt=true reads both")
        self._leniency.skipped.append(damage)

    def _make_damage(self, kind: str, reason: str, **more: int | None) -> Damage:
        split = self._split
        return Damage(
            topic=split.topic,
            partition=split.partition,
            kind=kind,
            reason=reason,
            file=split.path,
            **more,
        )

    def _first_offset_after_split(self) -> int | None:
        """The first offset of the batch after the split; None without one, or if it is damaged (its split says so)."""
        split = self._split
        head = self._file.read(RECORD_BATCH_OVERHEAD, split.end)
        if len(head) < HEADER_SIZE_UP_TO_MAGIC:
            return None
        with suppress(ApiError):
            header = parse_batch_header(head.ljust(RECORD_BATCH_OVERHEAD, b"\0"), 0, split.end)
            if header.magic >= MAGIC_V2 or not header.attributes & CODEC_MASK:
                return header.base_offset
            if header.end <= split.segment_bytes:
                return next(_record_offsets(self._file.read(header.size_bytes, split.end)), None)
        return None


def _record_offsets(data: bytes) -> Iterator[int]:
    """The offsets of the records of a batch. Raises: ApiError."""
    filler = ColumnFiller(WantedRows(key=False, value=False))
    for _ in filler.fill(data):
        yield from memoryview(filler.columns.offsets_buffer).cast("q")[: filler.columns.rows].tolist()
        filler.columns.clear()
