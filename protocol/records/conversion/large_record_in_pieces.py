"""Writes one record that is too large to hold as a message, piece by piece.

A message starts with its size and checksum, which are known only after its last byte has been read. So the stream is
decompressed twice: the first pass measures the record, the second writes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import pack

from ...errors import InvalidRecord
from .. import kernel
from ..layout import MAX_INT32, RECORD_OVERHEAD
from ..record import decode_varint
from .record_stream import RecordStream, Write

_LONGEST_HEAD = 5 + 1 + 10 + 5 + 5
_LONGEST_VARINT = 5
_VARLONG_BITS = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageHead:
    """The sizes and the checksum in a message's head; a null key or value has size -1."""

    key_size: int
    value_size: int
    crc: int


class LargeRecords:
    """The records above the limit in one v2 batch, in order, over both passes through its stream."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._heads: list[MessageHead] = []
        self._known = self._next = 0

    def begin_pass(self) -> None:
        """Begins a pass through the batch: the first one measures its large records, the next one writes them."""
        self._known, self._next = len(self._heads), 0

    @property
    def needs_another_pass(self) -> bool:
        """Whether this pass met a large record for the first time; then its output is dropped and the pass repeated."""
        return len(self._heads) > self._known

    def measure_or_write(self, pieces: RecordStream, down: kernel.RecordsDown, write: Write) -> None:
        """Take the record that the pieces are at, and write its message if it was measured before.

        Raises: InvalidRecord when the record is broken.
        """
        record = _RecordReader(pieces)
        timestamp_delta, offset_delta = record.read_deltas()
        place = down.admit_large_record(offset_delta, timestamp_delta)
        if place is None:
            record.skip_body()
            return
        offset, timestamp, attributes = place
        body = pack(">bB", self._target, attributes) + (pack(">q", timestamp) if self._target else b"")
        if self._next == self._known:
            self._heads.append(_measure_record(record, body, offset))
        else:
            _write_as_message(record, body, offset, self._heads[self._next], write)
            self._next += 1
        record.skip_headers()


def skip_and_read_deltas(pieces: RecordStream) -> tuple[int, int, bool]:
    """Skips the record that the pieces are at; returns its offset delta, its timestamp delta and whether it has no key.

    Raises: InvalidRecord when the record is broken.
    """
    record = _RecordReader(pieces)
    timestamp_delta, offset_delta = record.read_deltas()
    keyless = record.skip_value() < 0
    record.skip_value()
    record.skip_headers()
    return offset_delta, timestamp_delta, keyless


def _measure_record(record: "_RecordReader", body: bytes, offset: int) -> MessageHead:
    crc = kernel.crc32(body)
    sizes = []
    for _ in "key", "value":
        size = record.size()
        sizes.append(size)
        crc = kernel.crc32(pack(">i", size), crc)
        for piece in record.pieces(size):
            crc = kernel.crc32(piece, crc)
    if sum(sizes) > MAX_INT32 - max(RECORD_OVERHEAD):
        raise InvalidRecord(f"the record at offset {offset} is too large for a message")
    return MessageHead(key_size=sizes[0], value_size=sizes[1], crc=crc)


def _write_as_message(record: "_RecordReader", body: bytes, offset: int, measured: MessageHead, write: Write) -> None:
    target = body[0]
    size = RECORD_OVERHEAD[target] + max(0, measured.key_size) + max(0, measured.value_size)
    write(pack(">qiI", offset, size, measured.crc) + body)
    for _ in "key", "value":
        size = record.size()
        write(pack(">i", size))
        for piece in record.pieces(size):
            write(piece)


class _RecordReader:
    """Reads one v2 record from a stream (`record.py` shows its layout)."""

    def __init__(self, pieces: RecordStream) -> None:
        self._pieces = pieces
        self._left = _LONGEST_HEAD
        self._left = self._read_varint(_LONGEST_HEAD)

    def read_deltas(self) -> tuple[int, int]:
        """Return the timestamp delta and the offset delta."""
        for _ in self.pieces(1):
            pass
        return self._read_varint(_LONGEST_HEAD, _VARLONG_BITS), self._read_varint(_LONGEST_VARINT)

    def size(self) -> int:
        """Return the size of the key or value that comes next, -1 for null."""
        return max(-1, self._read_varint(_LONGEST_VARINT))

    def pieces(self, size: int) -> Iterator[memoryview]:
        if size > self._left:
            raise InvalidRecord(f"{size} bytes in a record where {self._left} are left")
        self._left -= max(0, size)
        return self._pieces.take(max(0, size))

    def skip_body(self) -> None:
        """Pass over key, value and headers. Raises: InvalidRecord."""
        self.skip_value()
        self.skip_value()
        self.skip_headers()

    def skip_headers(self) -> None:
        """Pass over what is left, which must be headers.

        Raises: InvalidRecord when it is anything else.
        """
        count = self._read_varint(_LONGEST_VARINT)
        if not 0 <= count <= self._left:
            raise InvalidRecord(f"{count} headers where {self._left} bytes are left")
        for _ in range(count):
            if self.skip_value() < 0:
                raise InvalidRecord("a header without a key")
            self.skip_value()
        if self._left:
            raise InvalidRecord(f"a record has {self._left} bytes after its headers")

    def skip_value(self) -> int:
        """Pass over a key or value; return its size, -1 for null. Raises: InvalidRecord."""
        size = self.size()
        for _ in self.pieces(size):
            pass
        return size

    def _read_varint(self, longest: int, bits: int = 35) -> int:
        self._pieces.need(longest)
        at = self._pieces.at
        value, end = decode_varint(self._pieces.data, at, min(len(self._pieces.data), at + self._left), bits)
        self._pieces.at = end
        self._left -= end - at
        return value
