"""The segments of one partition that can be read, wherever they are stored."""

from dataclasses import dataclass

from .segment_location import SegmentFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSegments:
    """One partition as it can be read. `start_offset` is the first offset: retention has deleted what is before it.

    `topic_id` is what the storage itself says, None where it does not. `notes` has a line for each hole, and for each
    segment that was left out, with the reason. Compaction has removed records below the offset `compacted_to`; the log
    is known to have reached the offset `known_end`, 0 where nothing tells. `named_by` is the file that names a
    partition which has no folder, None where it has one.
    """

    topic: str
    partition: int
    directory: str
    start_offset: int
    segments: tuple[SegmentFile, ...]
    notes: tuple[str, ...] = ()
    topic_id: str | None = None
    compacted_to: int = 0
    known_end: int = 0
    named_by: str | None = None

    @property
    def bytes_to_read(self) -> int:
        return sum(segment.bytes_to_read for segment in self.segments)
