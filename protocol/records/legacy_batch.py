"""A view over one outer entry of a magic 0 or 1 message set: a plain message, or a compressed wrapper.

| v0 | v1 | size | field (positions after the 12-byte frame) |
|---|---|---|---|
| 0 | 0 | 4 | CRC-32 of all from magic on |
| 4 | 4 | 1 | magic |
| 5 | 5 | 1 | attributes: codec bits 0-2, timestamp type bit 3 (v1) |
| - | 6 | 8 | timestamp |
| 6 | 14 | 4 | key length, negative = null |
| 10 | 18 | k | key, then value length (4) and value |

A wrapper's value is a compressed message set. Its offset is that of its last inner message. Inner offsets are absolute
in v0 and count from the first inner message in v1; a v1 wrapper offset of 0 means base 0, because some librdkafka
producers send that. Source: Kafka 3.9, LegacyRecord, AbstractLegacyRecordBatch.
"""

from collections.abc import Iterator

from ..errors import CorruptRecord, InvalidRecord
from . import kernel
from .compression.codecs import decompress_in_chunks
from .layout import (
    CODEC_MASK,
    FRAME,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V0,
    MAGIC_V1,
    MAX_OPENED_BYTES,
    MIN_SIZE,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_OVERHEAD,
    SIZE_OFFSET,
    TIMESTAMP_TYPE_BIT,
    V0_HEADER,
    V1_HEADER,
    Codec,
    TimestampType,
)
from .record import Buffer, Record


class LegacyBatch:
    """One outer entry. `data` is a view of its bytes, no copy; nothing is checked before `ensure_valid`."""

    __slots__ = ("attributes", "crc", "data", "last_offset", "magic", "max_timestamp", "size_bytes")

    last_offset: int
    crc: int
    magic: int
    attributes: int
    max_timestamp: int

    is_transactional = False
    is_control = False
    delete_horizon_ms = None
    producer_id = NO_PRODUCER_ID
    producer_epoch = NO_PRODUCER_EPOCH
    base_sequence = NO_SEQUENCE
    last_sequence = NO_SEQUENCE
    partition_leader_epoch = NO_PARTITION_LEADER_EPOCH

    def __init__(self, data: memoryview) -> None:
        """Take the view of exactly one entry. Raises: CorruptRecord when its size is not what its frame says."""
        if len(data) < LOG_OVERHEAD + MIN_SIZE or FRAME.unpack_from(data)[1] + LOG_OVERHEAD != len(data):
            raise CorruptRecord(f"a message in a view of {len(data)} bytes that is not its size")
        self.max_timestamp = NO_TIMESTAMP
        self.last_offset, _, self.crc, self.magic, self.attributes = V0_HEADER.unpack_from(data)
        if self.magic not in (MAGIC_V0, MAGIC_V1) or len(data) < LOG_OVERHEAD + RECORD_OVERHEAD[self.magic]:
            raise CorruptRecord(f"a message of magic {self.magic} in {len(data)} bytes")
        if self.magic == MAGIC_V1:
            self.max_timestamp = V1_HEADER.unpack_from(data)[5]
        self.data = data
        self.size_bytes = len(data)

    @property
    def base_offset(self) -> int:
        """The first offset; a wrapper is opened for it. Raises: as `records` does."""
        return next(self.records()).offset if self.is_compressed else self.last_offset

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def codec(self) -> Codec:
        """Raises: InvalidRecord for ids 5-7."""
        codec = self.attributes & CODEC_MASK
        if codec > Codec.ZSTD:
            raise InvalidRecord(f"unknown codec {codec} in the message at offset {self.last_offset}")
        return Codec(codec)

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == MAGIC_V0:
            return TimestampType.NONE
        append_time = self.attributes & TIMESTAMP_TYPE_BIT
        return TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME

    @property
    def base_timestamp(self) -> int:
        return self.max_timestamp

    @property
    def record_count(self) -> int | None:
        """One for a plain message; unknown for a wrapper, whose contents only opening tells."""
        return None if self.is_compressed else 1

    def ensure_valid(self) -> None:
        """Raises: CorruptRecord when the checksum does not match."""
        crc = kernel.crc32(self.data[MAGIC_OFFSET:])
        if crc != self.crc:
            raise CorruptRecord(
                f"the message at offset {self.last_offset} has checksum 0x{self.crc:08x}, its bytes make 0x{crc:08x}"
            )

    def key_and_value(self) -> tuple[memoryview | None, memoryview | None]:
        """Return views of key and value. Raises: InvalidRecord when a length runs over the end."""
        at = LOG_OVERHEAD + RECORD_OVERHEAD[self.magic] - 8
        key, at = self._nullable(at)
        value, at = self._nullable(at)
        return key, value

    def _nullable(self, at: int) -> tuple[memoryview | None, int]:
        left = len(self.data) - at - 4
        size = int.from_bytes(self.data[at : at + 4], "big", signed=True)
        if left < 0 or size > left:
            raise InvalidRecord(f"the message at offset {self.last_offset} has a key or value past its end")
        at += 4
        return (None, at) if size < 0 else (self.data[at : at + size], at + size)

    def records(self, max_bytes: int = MAX_OPENED_BYTES) -> Iterator[Record]:
        """Yield the record, or a wrapper's; a wrapper is opened twice, since v1 offsets depend on its last message.

        Raises: InvalidRecord and CorruptRecord for broken contents, RecordTooLarge above `max_bytes`.
        """
        if not self.is_compressed:
            yield self._make_record(self.last_offset, self)
            return
        base = self._inner_base(max_bytes)
        for inner in self.inner_messages(max_bytes):
            if inner.is_compressed:
                raise InvalidRecord(f"a compressed message inside the wrapper at offset {self.last_offset}")
            yield self._make_record(base + inner.last_offset, inner)

    def inner_messages(self, max_bytes: int = MAX_OPENED_BYTES) -> Iterator["LegacyBatch"]:
        """Yield a wrapper's messages as they are stored, offsets and all; checksums are not looked at.

        Raises: as `records` does.
        """
        _, value = self.key_and_value()
        if value is None:
            raise InvalidRecord(f"the wrapper at offset {self.last_offset} has no value")
        return map(
            LegacyBatch, split_messages(decompress_in_chunks(self.codec, value, magic=self.magic, max_bytes=max_bytes))
        )

    def _inner_base(self, max_bytes: int) -> int:
        """Return what to add to inner offsets."""
        last = None
        for inner in self.inner_messages(max_bytes):
            last = inner.last_offset
        if last is None:
            raise InvalidRecord(f"the wrapper at offset {self.last_offset} holds no message")
        if self.magic == MAGIC_V0 or self.last_offset == 0:
            return 0
        if self.last_offset < last:
            raise InvalidRecord(f"wrapper offset {self.last_offset} below its last inner offset {last}")
        return self.last_offset - last

    def _make_record(self, offset: int, message: "LegacyBatch") -> Record:
        """Magic 1 inside a wrapper has the wrapper's timestamp type, and its timestamp if that is LogAppendTime."""
        key, value = message.key_and_value()
        timestamp_type = TimestampType.NONE if message.magic == MAGIC_V0 else self.timestamp_type
        append_time = timestamp_type is TimestampType.LOG_APPEND_TIME
        return Record(
            offset=offset,
            timestamp=self.max_timestamp if append_time else message.max_timestamp,
            timestamp_type=timestamp_type,
            key=None if key is None else bytes(key),
            value=None if value is None else bytes(value),
        )

    def __repr__(self) -> str:
        return (
            f"LegacyBatch(magic {self.magic}, last offset {self.last_offset}, {self.size_bytes} bytes,"
            f" codec {self.attributes & CODEC_MASK})"
        )


def split_messages(chunks: Iterator[Buffer]) -> Iterator[memoryview]:
    """Yield each whole entry of a message set that comes in chunks; a part of one at the end is ignored.

    Raises: CorruptRecord for a size below the smallest message.
    """
    held = b""
    parts: list[bytes] = []
    missing = LOG_OVERHEAD
    for chunk in chunks:
        parts.append(bytes(chunk))
        missing -= len(chunk)
        if missing > 0:
            continue
        held = b"".join((held, *parts))
        parts.clear()
        at = 0
        view = memoryview(held)
        while (missing := _message_or_frame_size(view, at) - (len(view) - at)) <= 0:
            yield view[at : len(view) + missing]
            at = len(view) + missing
        held = held[at:]


def _message_or_frame_size(view: memoryview, at: int) -> int:
    """Return the size of the entry at `at`, or of its frame while that is not there whole."""
    if len(view) - at < LOG_OVERHEAD:
        return LOG_OVERHEAD
    size = int.from_bytes(view[at + SIZE_OFFSET : at + LOG_OVERHEAD], "big", signed=True)
    if size < MIN_SIZE:
        raise CorruptRecord(f"an inner message of {size} bytes, below {MIN_SIZE}")
    return size + LOG_OVERHEAD
