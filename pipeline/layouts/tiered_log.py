"""The log of one partition out of what a broker has and what tiered storage has, without a gap or a record twice.

Tiered storage holds more than the log: a segment that two leaders uploaded, each under its own id; the end of one that
an unclean election cut off; what the broker has still got itself. Kafka's RemoteLogManager asks for an offset together
with the leader epoch that it has there, and so does this: an offset of a segment counts only if the segment has it in
the same leader epoch as the log's history. The history is that of the broker's log where there is one, else of the
segment with the highest epoch. Where several segments have an offset, the broker's own is read, then the longest.

Source: Kafka 3.9 `RemoteLogManager.read`, `RemoteLogMetadataCache`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...storage.log.batch_scan import find_batch
from ...storage.log.leader_epochs import EpochEntry
from ..places.place_files import PlaceFiles
from ..reading.index_files import offset_entries
from ..reading.partition_segments import PartitionSegments
from ..reading.segment_location import SegmentFile
from .tiered_segment import UNKNOWN_END, OffsetRange, TieredPartition, TieredSegment, epoch_ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class _LogPart:
    """Offsets of a segment that belong to the history. `whole` is all that the segment has."""

    segment: SegmentFile
    range: OffsetRange
    whole: OffsetRange
    is_local: bool = False


def make_tiered_log(
    files: PlaceFiles,
    tiered: TieredPartition,
    local: PartitionSegments | None,
    history: Sequence[EpochEntry],
    start_offset: int | None,
) -> PartitionSegments:
    """The log of a partition. `history` is empty where there is no broker's; `start_offset` None where none is noted.

    Raises: CorruptRecord, DiskFault.
    """
    parts, notes = _find_valid_parts(tiered.segments, history or _newest_history(tiered.segments))
    if local is not None:
        parts += _local_parts(local)
    if start_offset is None:
        start_offset = min((part.range.first for part in parts), default=0)
    chosen = list(_chain_parts(parts, start_offset, notes))
    used = {part.segment.path for part in chosen}
    notes += [
        f"{part.segment.path}: left out, other segments have its offsets"
        for part in parts
        if part.segment.path not in used and not part.is_local and part.range.end > start_offset
    ]
    nexts = [part.range.first for part in chosen[1:]] + [None]
    segments = [
        _trim_to_offsets(files, part, next_base if not part.is_local else part.segment.next_base)
        for part, next_base in zip(chosen, nexts, strict=True)
    ]
    return PartitionSegments(
        topic=tiered.topic,
        partition=tiered.partition,
        directory=tiered.directory if local is None else local.directory,
        start_offset=start_offset,
        segments=tuple(segments),
        notes=tuple(notes),
        topic_id=tiered.topic_id,
        compacted_to=0 if local is None else local.compacted_to,
        known_end=0 if local is None else local.known_end,
    )


def _newest_history(segments: Sequence[TieredSegment]) -> Sequence[EpochEntry]:
    """The epochs of the segment that was written under the highest one: what a later leader has is what counts."""
    newest = max(
        segments, key=lambda each: (each.epochs[-1].epoch if each.epochs else -1, each.end_offset), default=None
    )
    return newest.epochs if newest is not None else ()


def _find_valid_parts(
    segments: Sequence[TieredSegment], history: Sequence[EpochEntry]
) -> tuple[list[_LogPart], list[str]]:
    """What of each segment belongs to the history, and a line for each of which something does not."""
    parts: list[_LogPart] = []
    notes = []
    for segment in segments:
        ranges = list(_ranges_in_history(segment, history))
        covered = sum(end - first for first, end in ranges)
        if covered < segment.end_offset - segment.file.base_offset:
            what = "its end is" if ranges else "it is"
            notes.append(f"{segment.file.path}: {what} left out: of a leader epoch that the log has cut off")
        parts += [_LogPart(segment=segment.file, range=each, whole=segment.range) for each in ranges]
    return parts, notes


def _ranges_in_history(segment: TieredSegment, history: Sequence[EpochEntry]) -> Iterator[OffsetRange]:
    """Runs of offsets whose epoch in the segment is that of the history; before its first epoch any will do."""
    if not segment.epochs or not history:
        yield segment.range
        return
    known = epoch_ranges(history, UNKNOWN_END)
    before = OffsetRange(0, history[0].start_offset)
    run: OffsetRange | None = None
    for epoch, (first, end) in epoch_ranges(segment.epochs, segment.end_offset).items():
        in_history = known.get(epoch, before if epoch < history[0].epoch else OffsetRange(0, 0))
        first, end = max(first, in_history.first, segment.range.first), min(end, in_history.end, segment.range.end)
        if first >= end:
            continue
        if run is not None and run.end == first:
            run = OffsetRange(run.first, end)
        else:
            if run is not None:
                yield run
            run = OffsetRange(first, end)
    if run is not None:
        yield run


def _local_parts(log: PartitionSegments) -> list[_LogPart]:
    parts = []
    for segment in log.segments:
        whole = OffsetRange(segment.base_offset, UNKNOWN_END if segment.next_base is None else segment.next_base)
        parts.append(_LogPart(segment=segment, range=whole, whole=whole, is_local=True))
    return parts


def _chain_parts(parts: Sequence[_LogPart], start_offset: int, notes: list[str]) -> Iterator[_LogPart]:
    """Yield parts that lie one behind the other from `start_offset` on; a line is added for each hole."""
    offset = start_offset
    while True:
        here = [part for part in parts if part.range.first <= offset < part.range.end]
        if not here:
            following = min((part.range.first for part in parts if part.range.first > offset), default=None)
            if following is None:
                return
            notes.append(f"offsets {offset} to {following - 1} are missing: no segment has them")
            offset = following
            continue
        best = max(here, key=lambda part: (part.is_local, part.range.end, part.segment.path))
        # A broker's own segments are read as soon as they begin.
        local_start = min((p.range.first for p in parts if p.is_local and p.range.first > offset), default=UNKNOWN_END)
        end = best.range.end if best.is_local else min(best.range.end, local_start)
        yield replace(best, range=OffsetRange(offset, end))
        if end == UNKNOWN_END:
            return
        offset = end


def _trim_to_offsets(files: PlaceFiles, part: _LogPart, next_base: int | None) -> SegmentFile:
    """The segment with the bytes that hold the part's offsets."""
    segment = replace(part.segment, next_base=next_base)
    start = 0 if part.range.first <= part.whole.first else _find_position(files, segment, part.range.first)
    end = segment.size_bytes if part.range.end >= part.whole.end else _find_position(files, segment, part.range.end)
    cut_at = part.range.first if start else None
    return replace(segment, start=start, size_bytes=end, cut_at=cut_at)


def _find_position(files: PlaceFiles, segment: SegmentFile, offset: int) -> int:
    """Where the batch with this offset begins, the end of the segment where it has none so high."""
    entries = offset_entries(files, segment)
    before = int(entries.offsets.searchsorted(offset, "right")) - 1
    file = segment.open(files, read_to=0)
    try:
        start = int(entries.positions[before]) if before >= 0 else 0
        found = find_batch(file, offset, start, segment.size_bytes)
    finally:
        file.close()
    return segment.size_bytes if found is None else found[0]
