"""One segment in tiered storage (KIP-405), as its layout lists it, before overlaps with other segments are resolved."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ...protocol.errors import DiskFault
from ...storage.files.checkpoint_file import parse_checkpoint_entries
from ...storage.log.leader_epochs import EpochEntry
from ..reading.segment_location import SegmentFile

UNKNOWN_END = (1 << 63) - 1


class OffsetRange(NamedTuple):
    """Offsets from `first` to `end` (open)."""

    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredSegment:
    """An uploaded segment with offsets up to `end_offset` (open), and the leader epochs of its log up to there."""

    file: SegmentFile
    end_offset: int
    epochs: tuple[EpochEntry, ...]

    @property
    def range(self) -> OffsetRange:
        return OffsetRange(self.file.base_offset, self.end_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredPartition:
    """What tiered storage has of one partition. A topic that was deleted and created again has another `topic_id`."""

    topic: str
    topic_id: str
    partition: int
    directory: str
    segments: tuple[TieredSegment, ...]


def parse_epochs(data: bytes, path: str) -> tuple[EpochEntry, ...]:
    """The entries of a leader epoch checkpoint. Raises: MalformedCheckpoint."""
    try:
        return tuple(EpochEntry(int(epoch), int(start)) for epoch, start in parse_checkpoint_entries(data, path))
    except ValueError as fault:
        raise DiskFault(f"{path}: lines should be `epoch startOffset`: {fault}") from fault


def epoch_ranges(epochs: Sequence[EpochEntry], end: int) -> dict[int, OffsetRange]:
    """The offsets of each epoch of a log that ends at `end`."""
    closed = [*epochs, EpochEntry(-1, end)]
    return {
        entry.epoch: OffsetRange(entry.start_offset, following.start_offset) for entry, following in pairwise(closed)
    }
