"""Segment files with batches of every magic and codec, and their indexes, as a log would have written them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.index.offset_index import OffsetIndex
from stepdown.storage.index.time_index import TimeIndex

START_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSegment:
    """A segment that was written: its file, and where each batch begins and ends."""

    log: Path
    positions: tuple[int, ...]
    last_offsets: tuple[int, ...]

    @property
    def index(self) -> Path:
        return self.log.with_suffix(".index")

    @property
    def time_index(self) -> Path:
        return self.log.with_suffix(".timeindex")


def records_from(offset: int, count: int = 3, value: bytes = b"value") -> list[Record]:
    """Records at consecutive offsets, one a millisecond; the first has no key, the second no value."""
    return [
        Record(
            offset=offset + at,
            timestamp=START_MS + offset + at,
            timestamp_type=TimestampType.CREATE_TIME,
            key=None if at == 0 else b"key-%d" % at,
            value=None if at == 1 else value,
        )
        for at in range(count)
    ]


def write_segment(folder: Path, batches: Sequence[bytes], last_offsets: Sequence[int], base: int = 0) -> WrittenSegment:
    """Write a segment and indexes that have an entry for every batch but the first."""
    folder.mkdir(parents=True, exist_ok=True)
    positions = tuple(sum(map(len, batches[:at])) for at in range(len(batches)))
    segment = WrittenSegment(log=folder / f"{base:020d}.log", positions=positions, last_offsets=tuple(last_offsets))
    segment.log.write_bytes(b"".join(batches))
    entries = list(zip(last_offsets, positions, strict=True))[1:]
    segment.index.write_bytes(b"".join(OffsetIndex.layout.pack(last - base, at) for last, at in entries))
    times = b"".join(TimeIndex.layout.pack(START_MS + last, last - base) for last, _ in entries)
    segment.time_index.write_bytes(times)
    return segment


def sample_segment(folder: Path, *, magic: int = 2, codec: Codec = Codec.NONE, batches: int = 4) -> WrittenSegment:
    """A segment of batches of three records each, from offset 0 on; plain v0 and v1 messages are batches of one."""
    plain_legacy = magic < 2 and codec is Codec.NONE
    count = 1 if plain_legacy else 3
    built = [build_batch(records_from(at * count, count), magic=magic, codec=codec) for at in range(batches)]
    return write_segment(folder, built, [at * count + count - 1 for at in range(batches)])
