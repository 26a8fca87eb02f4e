"""The wire types: their width, their Python value, and the few that need more than one `struct` code.

    type      non-flexible                 flexible ("compact", KIP-482)
    string    int16 length, -1 null        uvarint length + 1, 0 null       UTF-8
    bytes     int32 length, -1 null        uvarint length + 1, 0 null
    records   as bytes; a memoryview of the frame when read, any sized piece when written
    array     int32 count, -1 null         uvarint count + 1, 0 null
    struct    its fields                   its fields, then its tagged fields; nullable: int8 -1 null, 1 present
    tagged    none                         uvarint count, then per field uvarint tag, uvarint size, value

Source: Kafka 3.9 `org.apache.kafka.common.protocol.types.Type`, `ByteUtils`, and the message generator.
"""

import struct
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Final, Protocol, TypeAlias
from uuid import UUID

from .errors import MalformedFrame


class SizedPiece(Protocol):
    """Something a response carries whose bytes are made when they are sent: a slice of a file, a conversion."""

    @property
    def size_bytes(self) -> int: ...


Buffer: TypeAlias = bytes | bytearray | memoryview
Piece: TypeAlias = Buffer | SizedPiece

BUFFER_TYPES: Final = frozenset((bytes, bytearray, memoryview))
NO_UUID: Final = UUID(int=0)
MAX_STRING_BYTES: Final = 0x7FFF
MAX_UVARINT_BYTES: Final = 5

# Items in all arrays of one message. An item may take two bytes on the wire and a hundred in memory; the largest
# messages known name each replica of some 200,000 partitions.
MAX_ITEMS: Final = 2_000_000
MAX_TAGGED_FIELDS: Final = 100
"""The most tagged fields of one struct; Kafka 3.9 uses four."""


class Primitive(Enum):
    """A wire type. `code` is its `struct` code, empty where the width varies."""

    code: str

    def __new__(cls, name: str, code: str) -> "Primitive":
        member = object.__new__(cls)
        member._value_ = name
        member.code = code
        return member

    INT8 = "int8", "b"
    INT16 = "int16", "h"
    UINT16 = "uint16", "H"
    INT32 = "int32", "i"
    INT64 = "int64", "q"
    FLOAT64 = "float64", "d"
    BOOLEAN = "boolean", "?"
    UUID = "uuid", "16s"
    STRING = "string", ""
    BYTES = "bytes", ""
    RECORDS = "records", ""
    STRUCT = "struct", ""
    ARRAY = "array", ""

    @property
    def width(self) -> int:
        """Bytes of a fixed-width type, 0 of any other."""
        return struct.calcsize(">" + self.code)


def size_of(piece: Piece) -> int:
    """Bytes that a piece puts on the wire."""
    if isinstance(piece, bytes | bytearray):
        return len(piece)
    return piece.nbytes if isinstance(piece, memoryview) else piece.size_bytes


def write_uvarint(value: int) -> bytes:
    """An unsigned varint: seven bits a byte, lowest first, the high bit set on all but the last."""
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(data: memoryview, position: int) -> tuple[int, int]:
    """The value at `position` and the position after it.

    Raises: MalformedFrame when the bytes end inside it, or it is wider than 32 bits.
    """
    value = shift = 0
    for byte in data[position : position + MAX_UVARINT_BYTES]:
        position += 1
        if byte < 0x80:
            value |= byte << shift
            if value > 0xFFFFFFFF:
                break
            return value, position
        value |= (byte & 0x7F) << shift
        shift += 7
    raise MalformedFrame(f"byte {position} of {len(data)}: no uvarint of 32 bits ends here")


def make_too_many_tags_error(count: int) -> MalformedFrame:
    return MalformedFrame(f"a struct with {count} tagged fields, {MAX_TAGGED_FIELDS} is the most")


def skip_tagged_fields(data: memoryview, position: int) -> int:
    """The position after a section of tagged fields, none of which is known here.

    Raises: MalformedFrame when the section runs past the end of `data`.
    """
    count, position = read_uvarint(data, position)
    if count > MAX_TAGGED_FIELDS:
        raise make_too_many_tags_error(count)
    for _ in range(count):
        _tag, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        if size > len(data) - position:
            raise MalformedFrame(f"byte {position} of {len(data)}: a tagged field of {size} bytes does not fit")
        position += size
    return position


@lru_cache(maxsize=1024)
def read_uuid(data: bytes) -> UUID:
    """The UUID of 16 bytes. Kept for the next request, which most likely names the same topic."""
    return UUID(bytes=data)


def struct_by_count(code: str) -> Callable[[int], struct.Struct]:
    """A function from a count to the `struct` of that many values; the last 64 are cached."""

    @lru_cache(maxsize=64)
    def of(count: int) -> struct.Struct:
        return struct.Struct(f">{count}{code}")

    return of
