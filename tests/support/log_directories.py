"""Log directories of a few kB, as a broker would have left them, for the pipeline."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.segments import START_MS, WrittenSegment, write_segment


def keyed_records(first: int, count: int, *, value_bytes: int = 20, headers: bool = False) -> list[Record]:
    """Records with keys, one a millisecond; every fifth has no key, every seventh no value, some have headers."""
    return [
        Record(
            offset=offset,
            timestamp=START_MS + offset,
            key=None if offset % 5 == 0 else b"key %d" % offset,
            value=None if offset % 7 == 0 else b"%d " % offset + b"v" * value_bytes,
            headers=(("name", b"%d" % offset), ("null", None))[: offset % 3] if headers else (),
        )
        for offset in range(first, first + count)
    ]


def write_batches(
    log_dir: Path, topic: str, partition: int, batches: Iterable[Sequence[Record]], *, base: int = 0, **fields: object
) -> WrittenSegment:
    """Write one segment of a partition; `fields` go to `build_batch`. Magic 0 loses what it cannot hold."""
    built, lasts = [], []
    for records in batches:
        built.append(build_batch(list(records), **fields))  # type: ignore[arg-type]
        lasts.append(records[-1].offset)
    return write_segment(log_dir / f"{topic}-{partition}", built, lasts, base)


def write_topic(
    log_dir: Path,
    topic: str,
    *,
    partitions: int = 1,
    segments: int = 2,
    codec: Codec = Codec.NONE,
    headers: bool = False,
) -> None:
    """Write v2 segments of four batches of ten records."""
    for partition in range(partitions):
        for segment in range(segments):
            base = segment * 40
            batches = [keyed_records(base + at * 10, 10, headers=headers) for at in range(4)]
            write_batches(log_dir, topic, partition, batches, base=base, codec=codec)
