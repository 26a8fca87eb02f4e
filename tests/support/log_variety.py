"""A log directory with every kind of batch that a broker may hold, for comparisons record by record.

| topic | what |
|---|---|
| m0-none … m2-zstd | every magic and codec: null and empty keys and values, headers where magic 2 has them |
| append-time-1, append-time-2 | LogAppendTime, plain and compressed |
| compacted | gaps within batches and between them, a batch whose first and last records are gone, one without records |
| transactions | committed and aborted ones with their markers, and one that is open |
| ages | magic 0, 1 and 2 after each other in one partition, in two segments |
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record

from .segments import START_MS, write_segment

CODECS_OF_MAGIC = {0: (0, 1, 2, 3), 1: (0, 1, 2, 3), 2: (0, 1, 2, 3, 4)}
_VALUES = (b"value", None, b"", b"a longer value " * 40)
_HEADERS = ((), (("name", b"text"), ("name", None)), (("", b""),))


def varied(first: int, count: int, magic: int = 2, step: int = 1) -> list[Record]:
    """Records whose keys, values, headers and times take turns; times do not only rise."""
    return [
        Record(
            offset=offset,
            timestamp=START_MS + (offset * 7919) % 100_000,
            key=(None, b"", b"key-%d" % offset)[offset % 3],
            value=_VALUES[offset % len(_VALUES)],
            headers=_HEADERS[offset % len(_HEADERS)] if magic == 2 else (),
        )
        for offset in range(first, first + count * step, step)
    ]


def write_variety(log_dir: Path) -> int:
    """Write all topics; return how many records they hold, markers not counted."""
    count = 0
    for topic, segments in _topics():
        for base, batches in segments:
            count += sum(records for _, _, records in batches)
            write_segment(
                log_dir / f"{topic}-0", [data for data, _, _ in batches], [last for _, last, _ in batches], base
            )
    return count


_Batch = tuple[bytes, int, int]
"""Its bytes, its last offset, how many records a consumer sees of it."""


def _batch(records: Sequence[Record], **fields: object) -> _Batch:
    return build_batch(list(records), **fields), records[-1].offset, len(records)  # type: ignore[arg-type]


def _topics() -> Iterator[tuple[str, list[tuple[int, list[_Batch]]]]]:
    for magic, codecs in CODECS_OF_MAGIC.items():
        for codec in map(Codec, codecs):
            yield f"m{magic}-{codec.name.lower()}", [(0, _messages(magic, codec, 0, 60))]
    for magic in (1, 2):
        fields = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": START_MS + 5}
        batches = _messages(magic, Codec.NONE, 0, 6, **fields) + _messages(magic, Codec.GZIP, 6, 6, **fields)
        yield f"append-time-{magic}", [(0, batches)]
    yield "compacted", [(0, _compacted())]
    yield "transactions", [(0, _transactions())]
    first = _messages(0, Codec.NONE, 0, 9) + _messages(0, Codec.GZIP, 9, 9) + _messages(1, Codec.NONE, 18, 3)
    second = _messages(1, Codec.LZ4, 21, 9) + _messages(2, Codec.NONE, 30, 9) + _messages(2, Codec.ZSTD, 39, 9)
    yield "ages", [(0, first), (21, second)]


def _messages(magic: int, codec: Codec, first: int, count: int, **fields: object) -> list[_Batch]:
    """Batches of three records; of one where plain messages of magic 0 and 1 stand alone."""
    size = 1 if magic < 2 and codec is Codec.NONE else 3
    fields = {"magic": magic, "codec": codec, **fields}
    return [_batch(varied(at, size, magic), **fields) for at in range(first, first + count, size)]


def _compacted() -> list[_Batch]:
    gaps = build_batch(varied(2, 3, step=3), base_offset=0, last_offset=9, codec=Codec.LZ4)
    empty = build_batch([], base_offset=14, last_offset=19, producer_id=5, producer_epoch=0, base_sequence=0)
    return [(gaps, 9, 3), (empty, 19, 0), _batch(varied(40, 2, step=50)), _batch(varied(200, 1))]


def _transactions() -> list[_Batch]:
    def part(producer_id: int, first: int, sequence: int) -> _Batch:
        fields = {"producer_epoch": 0, "base_sequence": sequence, "transactional": True}
        return _batch(varied(first, 3), producer_id=producer_id, **fields)

    def marker(kind: ControlType, producer_id: int, offset: int) -> _Batch:
        data = build_control_marker(
            kind,
            offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp=START_MS + offset,
        )
        return data, offset, 0

    return [
        part(1, 0, 0),
        part(2, 3, 0),
        marker(ControlType.COMMIT, 1, 6),
        marker(ControlType.ABORT, 2, 7),
        part(1, 8, 3),
        _batch(varied(11, 3)),
    ]
