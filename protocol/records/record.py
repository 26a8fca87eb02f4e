"""One record as an application sees it, whatever the magic it is stored in.

The record of a v2 batch (Kafka 3.9, DefaultRecord; varints are zig-zag, at most 5 bytes, varlongs at most 10):

    length varint | attributes int8 | timestamp delta varlong | offset delta varint | key length varint | key |
    value length varint | value | header count varint | { key length varint | key | value length varint | value } ...
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import InvalidRecord
from .layout import TimestampType

Buffer = bytes | bytearray | memoryview
Header = tuple[str, bytes | None]

_MAX_VARINT_BITS = 35
_MAX_VARLONG_BITS = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record with its absolute offset; a null key or value is None, and magic 0 has timestamp -1."""

    offset: int = 0
    timestamp: int = -1
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    key: bytes | memoryview | None = None
    value: bytes | memoryview | None = None
    headers: tuple[Header, ...] = ()


def encode_varint(value: int) -> bytes:
    """Return the zig-zag varint or varlong of a signed number."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_varint(data: Buffer, at: int, end: int, max_bits: int = _MAX_VARINT_BITS) -> tuple[int, int]:
    """Return the signed number at `at` and the position after it.

    Raises: InvalidRecord when it runs over `end` (open) or over its 5 or 10 bytes.
    """
    if at < end and data[at] < 0x80:  # most are of one byte
        return (data[at] >> 1) ^ -(data[at] & 1), at + 1
    value = shift = 0
    while at < end and shift < max_bits:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return _undo_zigzag(value, 32 if max_bits == _MAX_VARINT_BITS else 64), at
        shift += 7
    raise InvalidRecord(f"a varint runs past byte {end} or over {max_bits // 7} bytes")


def _undo_zigzag(value: int, value_bits: int) -> int:
    """Undo the zig-zag within 32 or 64 bits; bits beyond them are dropped, as Java's shifts drop them."""
    value &= (1 << value_bits) - 1
    return (value >> 1) ^ -(value & 1)


def _wrap64(value: int) -> int:
    """Return the number as 64 bits hold it: sums of hostile timestamps and offsets wrap, as Java's do."""
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63)) % (1 << 64) - (1 << 63)


def encode_record(record: Record, *, base_offset: int, base_timestamp: int) -> bytes:
    """Return the record as a v2 batch stores it, its length first."""
    body = bytearray(1)
    body += encode_varint(_wrap64(record.timestamp - base_timestamp))
    body += encode_varint(record.offset - base_offset)
    _append_nullable(body, record.key)
    _append_nullable(body, record.value)
    body += encode_varint(len(record.headers))
    for key, value in record.headers:
        _append_nullable(body, key.encode())
        _append_nullable(body, value)
    return encode_varint(len(body)) + body


def _append_nullable(body: bytearray, value: Buffer | None) -> None:
    body += encode_varint(-1 if value is None else len(value))
    if value is not None:
        body += value


def decode_record(
    data: Buffer, at: int, end: int, *, base_offset: int, base_timestamp: int, append_time: int | None
) -> tuple[Record, int]:
    """Return the record at `at` and the position after it; key, value and headers are copies.

    `append_time` replaces the record's own timestamp in a LogAppendTime batch.

    Raises: InvalidRecord when the record does not lie whole before `end` or is not consumed exactly.
    """
    length, at = decode_varint(data, at, end)
    if not 0 < length <= end - at:
        raise InvalidRecord(f"a record of {length} bytes where {end - at} are left")
    end = at + length
    timestamp_delta, at = decode_varint(data, at + 1, end, _MAX_VARLONG_BITS)
    offset_delta, at = decode_varint(data, at, end)
    key, at = _decode_nullable(data, at, end)
    value, at = _decode_nullable(data, at, end)
    headers, at = _decode_headers(data, at, end)
    if at != end:
        raise InvalidRecord(f"a record of {length} bytes has {end - at} bytes after its headers")
    record = Record(
        offset=_wrap64(base_offset + offset_delta),
        timestamp=_wrap64(base_timestamp + timestamp_delta) if append_time is None else append_time,
        timestamp_type=TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME,
        key=key,
        value=value,
        headers=headers,
    )
    return record, at


def _decode_nullable(data: Buffer, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(data, at, end)
    if length < 0:
        return None, at
    if length > end - at:
        raise InvalidRecord(f"a key or value of {length} bytes where {end - at} are left")
    return bytes(data[at : at + length]), at + length


def _decode_headers(data: Buffer, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = decode_varint(data, at, end)
    if not 0 <= count <= end - at:
        raise InvalidRecord(f"{count} headers where {end - at} bytes are left")
    headers = []
    for _ in range(count):
        key, at = _decode_nullable(data, at, end)
        if key is None:
            raise InvalidRecord("a header without a key")
        value, at = _decode_nullable(data, at, end)
        headers.append((key.decode(errors="replace"), value))
    return tuple(headers), at


def decode_records(
    chunks: Iterable[Buffer], count: int, *, base_offset: int, base_timestamp: int, append_time: int | None
) -> Iterator[Record]:
    """Yield the `count` records that a stream of chunks holds, keeping no more than one chunk and one record.

    Raises: InvalidRecord when a record is broken, one is missing, or bytes are left over.
    """
    left = count
    held = bytearray()
    for chunk in chunks:
        held += chunk
        at = 0
        while left and (end := _record_end(held, at)) is not None:
            record, at = decode_record(
                held, at, end, base_offset=base_offset, base_timestamp=base_timestamp, append_time=append_time
            )
            left -= 1
            yield record
        del held[:at]
        if held and not left:
            break
    if left:
        raise InvalidRecord(f"{left} of {count} records are missing")
    if held:
        raise InvalidRecord(f"bytes are left after {count} records")


def _record_end(data: bytearray, at: int) -> int | None:
    """Return where the record at `at` ends, or None while it is not there whole."""
    for last in range(at, min(at + 5, len(data))):
        if data[last] < 0x80:
            length, start = decode_varint(data, at, last + 1)
            if length <= 0:
                raise InvalidRecord(f"a record of {length} bytes")
            return start + length if length <= len(data) - start else None
    if len(data) - at >= 5:
        raise InvalidRecord("a record's length takes more than 5 bytes")
    return None
