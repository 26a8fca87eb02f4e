"""Reads and writes numbers of the record formats: the readable twin of what the compiled loops inline.

Reading past the end returns the position end + 1, where each later read fails too, so one check at the end is enough.
Sums of 64-bit numbers wrap, as Java's do.
"""

from __future__ import annotations

from ..record import Buffer

Source = Buffer
Sink = memoryview
Words = memoryview


def copy(sink: Sink, to: int, data: Source, at: int, size: int) -> None:
    """Copies `size` bytes from position `at` of the data to position `to` of the sink."""
    sink[to : to + size] = data[at : at + size]


def move(sink: Sink, to: int, at: int, size: int) -> None:
    """Copies `size` bytes of the sink from `at` to `to`; the two may overlap."""
    sink[to : to + size] = bytes(sink[at : at + size])


def add64(a: int, b: int) -> int:
    """Return the sum of two 64-bit numbers, wrapped into 64 bits."""
    return (a + b + 2**63) % 2**64 - 2**63


def get32(data: Source, at: int) -> int:
    """Return the signed number of 32 bits at `at`, big-endian."""
    return int.from_bytes(data[at : at + 4], "big", signed=True)


def get64(data: Source, at: int) -> int:
    """Return the signed number of 64 bits at `at`, big-endian."""
    return int.from_bytes(data[at : at + 8], "big", signed=True)


def put32(sink: Sink, at: int, value: int) -> None:
    """Writes the low 32 bits, big-endian."""
    sink[at : at + 4] = (value % 2**32).to_bytes(4, "big")


def put64(sink: Sink, at: int, value: int) -> None:
    """Writes the low 64 bits, big-endian."""
    sink[at : at + 8] = (value % 2**64).to_bytes(8, "big")


def little32(data: Source, at: int) -> int:
    """Return the unsigned number of 32 bits at `at`, little-endian."""
    return int.from_bytes(data[at : at + 4], "little")


def put_little32(sink: Sink, at: int, value: int) -> None:
    """Writes a number of 32 bits, little-endian."""
    sink[at : at + 4] = value.to_bytes(4, "little")


def put_little16(sink: Sink, at: int, value: int) -> None:
    """Writes a number of 16 bits, little-endian."""
    sink[at : at + 2] = value.to_bytes(2, "little")


def unzigzag(value: int) -> int:
    """Return the signed number that the unsigned one stands for."""
    return value >> 1 ^ -(value & 1)


def varint(data: Source, at: int, end: int) -> tuple[int, int]:
    """Return the signed number of up to 32 bits at `at` and the position after it, or end + 1."""
    return _variable(data, at, end, 32)


def varlong(data: Source, at: int, end: int) -> tuple[int, int]:
    """Return the signed number of up to 64 bits at `at` and the position after it, or end + 1."""
    return _variable(data, at, end, 64)


def _variable(data: Source, at: int, end: int, bits: int) -> tuple[int, int]:
    value = 0
    for number, byte in enumerate(data[at : min(end, at + bits // 7 + 1)]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return unzigzag(value % 2**bits), at + number + 1
    return 0, end + 1


def zigzag(value: int) -> int:
    """Return the unsigned number that stands for a signed one of 64 bits."""
    return value << 1 ^ value >> 63


def varint_size(value: int) -> int:
    """Returns how many bytes a number takes as a varint or varlong."""
    return max(1, -(-zigzag(value).bit_length() // 7))


def put_varint(sink: Sink, at: int, value: int) -> int:
    """Writes a varint or varlong; returns the position after it."""
    rest = zigzag(value)
    while rest > 0x7F:
        sink[at] = rest & 0x7F | 0x80
        rest >>= 7
        at += 1
    sink[at] = rest
    return at + 1
