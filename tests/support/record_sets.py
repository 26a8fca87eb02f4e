"""Record sets as producers send them, right and wrong, in every magic and codec."""

from collections.abc import Callable, Iterable, Sequence

from stepdown.protocol.records import kernel
from stepdown.protocol.records.builder import build_batch, build_control_marker, encode_message
from stepdown.protocol.records.compression.codecs import compress
from stepdown.protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    RECORD_BATCH_OVERHEAD,
    Codec,
    ControlType,
    TimestampType,
)
from stepdown.protocol.records.record import Record
from stepdown.protocol.records.v2_header import LAYOUT

NOW = 1_700_000_000_000

BATCH_FIELDS = (
    "base_offset",
    "size",
    "leader_epoch",
    "magic",
    "crc",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)


def records(*timestamps: int, key: bytes | None = b"key", first_offset: int = 0) -> list[Record]:
    """A record for each timestamp, at consecutive offsets."""
    return [
        Record(offset=first_offset + n, timestamp=timestamp, key=key, value=b"value %d" % n)
        for n, timestamp in enumerate(timestamps)
    ]


def record_set(
    magic: int, codec: Codec = Codec.NONE, content: Sequence[Record] | None = None, **fields: object
) -> bytes:
    """A set of three records 30, 20 and 10 ms old, unless `content` says otherwise."""
    content = records(NOW - 30, NOW - 10, NOW - 20) if content is None else content
    if magic == 0:
        content = [Record(offset=record.offset, key=record.key, value=record.value) for record in content]
    return build_batch(content, magic=magic, codec=codec, **fields)  # type: ignore[arg-type]


def patched(batch: bytes, **fields: int) -> bytes:
    """A v2 batch with other header fields (`BATCH_FIELDS`) and, unless `crc` is given, a checksum that fits."""
    values = dict(zip(BATCH_FIELDS, LAYOUT.unpack_from(batch), strict=True)) | fields
    data = bytearray(LAYOUT.pack(*values.values()) + batch[RECORD_BATCH_OVERHEAD:])
    if "crc" not in fields:
        checksum = kernel.crc32c(memoryview(data)[ATTRIBUTES_OFFSET:])
        data[CRC_OFFSET : CRC_OFFSET + 4] = checksum.to_bytes(4, "big")
    return bytes(data)


def batch_with_body(body: bytes, count: int, codec: Codec = Codec.NONE) -> bytes:
    """A v2 batch that says `count` records, of which `body` is the uncompressed form."""
    whole = record_set(2)[:RECORD_BATCH_OVERHEAD] + compress(codec, body, magic=2)
    return patched(
        whole,
        size=len(whole) - 12,
        attributes=codec,
        record_count=count,
        last_offset_delta=count - 1,
        base_timestamp=NOW,
        max_timestamp=NOW,
    )


def wrapper(
    magic: int, codec: Codec, messages: Iterable[bytes], *, offset: int = 0, timestamp: int = NOW, attributes: int = 0
) -> bytes:
    """A compressed message of magic 0 or 1 around any inner messages."""
    return encode_message(
        magic=magic,
        offset=offset,
        timestamp=timestamp,
        attributes=attributes | codec,
        key=None,
        value=compress(codec, list(messages), magic=magic),
    )


def message(
    magic: int, offset: int = 0, *, timestamp: int = NOW, attributes: int = 0, key: bytes | None = b"k"
) -> bytes:
    return encode_message(
        magic=magic, offset=offset, timestamp=timestamp, attributes=attributes, key=key, value=b"value"
    )


def with_wrong_checksum(data: bytes) -> bytes:
    """The set with its last byte turned over."""
    return data[:-1] + bytes([data[-1] ^ 0xFF])


def _gaps(count: int = 3) -> list[Record]:
    return [Record(offset=n * 2, timestamp=NOW, key=b"k", value=b"v") for n in range(count)]


def _legacy_inputs(magic: int, codec: Codec) -> dict[str, bytes]:
    """What only magic 0 and 1 can say."""
    inputs = {
        "one message": message(magic),
        "two sets": record_set(magic, codec) * 2,
        "an unknown codec": message(magic, attributes=7),
        "an unknown codec behind": message(magic) + message(magic, attributes=7),
        "one message marked LogAppendTime": message(magic) + message(magic, attributes=8),
        "one message marked without a time": message(magic) + message(magic, timestamp=-1, attributes=8),
        "a negative timestamp": message(magic) + message(magic, timestamp=-5),
        "unused attributes": message(magic, attributes=0x70),
        "a wrong checksum behind": message(magic) + with_wrong_checksum(message(magic)),
        "two magics": message(magic) + message(1 - magic),
        "a magic 2 batch behind": message(magic) + record_set(2),
    }
    if codec is Codec.NONE:
        return inputs
    inner = [message(magic, n) for n in range(3)]
    return inputs | {
        "a negative wrapper offset": wrapper(magic, codec, inner, offset=-9),
        "a wrapper marked LogAppendTime": wrapper(magic, codec, inner, offset=2, attributes=8),
        "an inner message marked LogAppendTime": wrapper(magic, codec, [message(magic, attributes=8)]),
        "a negative inner timestamp": wrapper(magic, codec, [message(magic, timestamp=-5)]),
        "wrapper offset 0": wrapper(magic, codec, inner, offset=0),
        "a wrapper offset too low": wrapper(magic, codec, inner, offset=1),
        "a high wrapper offset": wrapper(magic, codec, inner, offset=70),
        "inner offsets all 0": wrapper(magic, codec, [message(magic)] * 3, offset=2),
        "an empty wrapper": wrapper(magic, codec, []),
        "a wrapper without a value": encode_message(
            magic=magic, offset=0, timestamp=NOW, attributes=codec, key=None, value=None
        ),
        "a wrong inner checksum": wrapper(magic, codec, [inner[0], with_wrong_checksum(inner[1])], offset=1),
        "an inner message of the other magic": wrapper(magic, codec, [inner[0], message(1 - magic, 1)], offset=1),
        "a compressed inner message": wrapper(magic, codec, [message(magic, attributes=codec)]),
        "a cut inner message": wrapper(magic, codec, [inner[0], inner[1][:-3]], offset=0),
        "a plain message in front": message(magic) + wrapper(magic, codec, inner, offset=2),
    }


def _batch_inputs(codec: Codec) -> dict[str, bytes]:
    """What only magic 2 can say."""
    good = record_set(2, codec)
    body = record_set(2)[RECORD_BATCH_OVERHEAD:]
    headers = Record(timestamp=NOW, value=b"", headers=(("h", b"1"), ("", None), ("h", b"2")))
    return {
        "headers and no key": record_set(2, codec, [headers]),
        "two batches": good * 2,
        "base offset 5": patched(good, base_offset=5),
        "no records": patched(good, record_count=0),
        "fewer records than offsets": patched(good, record_count=2),
        "fewer offsets than records": patched(good, last_offset_delta=1),
        "a negative offset range": patched(good, last_offset_delta=-1, record_count=-2),
        "one record more than it says": patched(good, record_count=2, last_offset_delta=1),
        "one record less than it says": patched(good, record_count=4, last_offset_delta=3),
        "a control batch": build_control_marker(
            ControlType.COMMIT, offset=0, producer_id=5, producer_epoch=0, coordinator_epoch=0, timestamp=NOW
        ),
        "an idempotent batch": record_set(2, codec, producer_id=7, producer_epoch=0, base_sequence=0),
        "a producer without a sequence": record_set(2, codec, producer_id=7, producer_epoch=0),
        "a wrong max timestamp": patched(good, max_timestamp=NOW + 12345),
        "an old leader epoch": patched(good, leader_epoch=9),
        "unused attributes": patched(good, attributes=int.from_bytes(good[21:23], "big") | 0x7F80),
        "a cut record": batch_with_body(body[:-1], 3, codec),
        "a record too long": batch_with_body(body + b"\x00", 3, codec),
        "a record length past the end": batch_with_body(b"\xfe\x7f" + body[1:], 3, codec),
        "a negative header count": batch_with_body(bytes([12, 0, 0, 0, 1, 1, 1]), 1, codec),
        "a record that is not consumed": batch_with_body(bytes([14, 0, 0, 0, 1, 1, 0, 0]), 1, codec),
        "shorter than its head": good[:8] + (30).to_bytes(4, "big") + good[12:42],
    }


def inputs(magic: int, codec: Codec) -> dict[str, bytes]:
    """Record sets by what is special about them."""
    good = record_set(magic, codec)
    append_time = {"timestamp_type": TimestampType.LOG_APPEND_TIME}
    common: dict[str, Callable[[], bytes]] = {
        "good": lambda: good,
        "one record": lambda: record_set(magic, codec, records(NOW)),
        "no timestamps": lambda: record_set(magic, codec, records(-1, -1)),
        "some timestamps": lambda: record_set(magic, codec, records(-1, NOW, -1, NOW - 5)),
        "null values": lambda: record_set(magic, codec, [Record(timestamp=NOW, key=b"k")]),
        "null keys": lambda: record_set(magic, codec, records(NOW, NOW, key=None)),
        "too old": lambda: record_set(magic, codec, records(NOW, NOW - 100_000, NOW - 200_000)),
        "too new": lambda: record_set(magic, codec, records(NOW + 100_000, NOW)),
        "no key and too old": lambda: record_set(magic, codec, records(NOW - 100_000, key=None)),
        "gaps between offsets": lambda: record_set(magic, codec, _gaps()),
        "first offset 40": lambda: record_set(magic, codec, records(NOW, NOW, first_offset=40), **(
            {"base_offset": 0} if magic == 2 else {}
        )),
        "marked LogAppendTime": lambda: record_set(magic, codec, log_append_time=NOW - 7, **append_time),
        "marked LogAppendTime without a time": lambda: record_set(magic, codec, records(-1, -1), **append_time),
        "a cut batch behind": lambda: good + good[:-1],
        "a frame behind": lambda: good + good[:12],
        "only a cut batch": lambda: good[:-1],
        "nothing": lambda: b"",
        "garbage behind": lambda: good + bytes(40),
        "magic 3 behind": lambda: good + good[:16] + b"\x03" + good[17:],
        "a wrong checksum": lambda: with_wrong_checksum(good),
        "too large": lambda: record_set(magic, codec, [Record(timestamp=NOW, key=b"k", value=_noise(3000))]),
        "large in all": lambda: record_set(magic, codec, [
            Record(offset=n, timestamp=NOW, key=b"k", value=b"v" * 200) for n in range(20)
        ]),
    }  # fmt: skip
    special = _batch_inputs(codec) if magic == 2 else _legacy_inputs(magic, codec)
    return {name: make() for name, make in common.items()} | special


def _noise(size: int) -> bytes:
    """Bytes that no codec makes smaller."""
    state, out = 12345, bytearray()
    for _ in range(size):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(state >> 16 & 0xFF)
    return bytes(out)
