"""Converts one message of magic 0 or 1 that is too large to hold, piece by piece, from inside a wrapper.

Converting up takes one pass, since a record begins with sizes that are in the message's head. A message of magic 0
begins with its checksum, so converting down takes two passes, the first of which measures it. If the stream ends inside
such a message, that is an error; a smaller message would be ignored.
"""

from collections.abc import Iterator
from struct import pack

from ...errors import CorruptRecord, InvalidRecord
from .. import kernel
from ..layout import (
    CODEC_MASK,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V1,
    NO_TIMESTAMP,
    RECORD_OVERHEAD,
    V0_HEADER,
    V1_HEADER,
)
from ..record import encode_varint
from .large_record_in_pieces import MessageHead
from .record_stream import RecordStream, Write

_SIZE_BYTES = 4
_LONGEST_HEAD = V1_HEADER.size + _SIZE_BYTES


def convert_message_up(pieces: RecordStream, up: kernel.MessagesUp, write: Write, magic: int) -> None:
    """Take the message that the pieces are at, and write its record.

    Raises: CorruptRecord for a wrong checksum; InvalidRecord for another magic, a codec, or sizes that do not fit.
    """
    message = _MessageReader(pieces)
    if message.magic != magic or message.attributes & CODEC_MASK:
        raise InvalidRecord(
            f"a message of magic {message.magic}, attributes {message.attributes} in one of magic {magic}"
        )
    number, delta = up.number_large_message(message.offset, message.timestamp, message.key_size < 0, message.total)
    key_size, value_bytes = message.key_size, message.value_bytes
    head = b"\0" + encode_varint(delta) + encode_varint(number) + encode_varint(key_size)
    size = len(head) + max(0, key_size) + len(encode_varint(value_bytes)) + value_bytes + 1
    write(encode_varint(size) + head)
    for piece in message.read_key():
        write(piece)
    value_size = message.read_value_size()
    write(encode_varint(value_size))
    for piece in message.read_value():
        write(piece)
    write(b"\0")
    up.note_written_bytes(len(encode_varint(size)) + size)
    if message.running_crc != message.crc:
        raise CorruptRecord(f"the message at offset {message.offset} does not match its checksum")


class LargeMessages:
    """The messages above the limit in one wrapper, in order; the first pass measures them, the second writes them."""

    def __init__(self) -> None:
        self._heads: list[MessageHead] = []
        self._next = 0

    def measure_or_write(self, pieces: RecordStream, down: kernel.MessagesDown, write: Write | None) -> None:
        """Take the message that the pieces are at: measure it, or with `write` write it for magic 0.

        Raises: InvalidRecord.
        """
        message = _MessageReader(pieces)
        offset = down.admit_large_message(message.offset, message.timestamp, message.attributes)
        if write is None:
            self._heads.append(_measure_message(message))
            return
        measured = self._heads[self._next]
        self._next += 1
        size = RECORD_OVERHEAD[0] + max(0, measured.key_size) + max(0, measured.value_size)
        write(pack(">qiIhi", offset, size, measured.crc, 0, measured.key_size))
        for piece in message.read_key():
            write(piece)
        write(pack(">i", message.read_value_size()))
        for piece in message.read_value():
            write(piece)


def _measure_message(message: "_MessageReader") -> MessageHead:
    crc = kernel.crc32(pack(">hi", 0, message.key_size))
    for piece in message.read_key():
        crc = kernel.crc32(piece, crc)
    value_size = message.read_value_size()
    crc = kernel.crc32(pack(">i", value_size), crc)
    for piece in message.read_value():
        crc = kernel.crc32(piece, crc)
    return MessageHead(key_size=message.key_size, value_size=value_size, crc=crc)


class _MessageReader:
    """Reads one message (`legacy_batch.py` shows its layout): head, then key, value size and value in this order.

    `value_bytes` is what the frame leaves for the value. `running_crc` covers what has been read.
    """

    def __init__(self, pieces: RecordStream) -> None:
        self._pieces = pieces
        pieces.need(_LONGEST_HEAD)
        head = memoryview(pieces.data)[pieces.at :][:_LONGEST_HEAD]
        if len(head) < _LONGEST_HEAD:
            raise InvalidRecord("a stream ends inside the head of a message")
        self.offset, size, self.crc, self.magic, self.attributes = V0_HEADER.unpack_from(head)
        if self.magic not in (0, 1):
            raise InvalidRecord(f"a message of magic {self.magic} at offset {self.offset}")
        self.timestamp = V1_HEADER.unpack_from(head)[5] if self.magic == MAGIC_V1 else NO_TIMESTAMP
        at = V1_HEADER.size if self.magic == MAGIC_V1 else V0_HEADER.size
        self.key_size = max(-1, int.from_bytes(head[at : at + _SIZE_BYTES], "big", signed=True))
        self.total = size + LOG_OVERHEAD
        self.value_bytes = size - RECORD_OVERHEAD[self.magic] - max(0, self.key_size)
        if self.value_bytes < 0:
            raise InvalidRecord(f"the message at offset {self.offset} has a key past its end")
        self.running_crc = kernel.crc32(head[MAGIC_OFFSET : at + _SIZE_BYTES])
        pieces.at += at + _SIZE_BYTES

    def read_key(self) -> Iterator[memoryview]:
        return self._take(max(0, self.key_size))

    def read_value_size(self) -> int:
        """Return the value's size, -1 for null. Raises: InvalidRecord when it is not all that is left."""
        size = max(-1, int.from_bytes(b"".join(self._take(_SIZE_BYTES)), "big", signed=True))
        if max(0, size) != self.value_bytes:
            raise InvalidRecord(
                f"the message at offset {self.offset} has {self.value_bytes} bytes for a value of {size}"
            )
        return size

    def read_value(self) -> Iterator[memoryview]:
        return self._take(self.value_bytes)

    def _take(self, size: int) -> Iterator[memoryview]:
        for piece in self._pieces.take(size):
            self.running_crc = kernel.crc32(piece, self.running_crc)
            yield piece
