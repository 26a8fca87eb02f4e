"""Deflate streams and the gzip format around them: what who opens and who closes them share (RFC 1951, RFC 1952)."""

from __future__ import annotations

from typing import Final

from .numbers import Sink, Source, Words, little64, put_little64

CODE_LENGTHS: Final = 19
LITERALS: Final = 256
END_OF_BLOCK: Final = 256
FIRST_LENGTH: Final = 257
LENGTHS: Final = 29
MOST_LITERAL_CODES: Final = 288
MOST_DISTANCE_CODES: Final = 32
DISTANCES: Final = 30
LONGEST_CODE: Final = 15
LONGEST_REPEAT: Final = 258
WINDOW_BYTES: Final = 32768
STORED: Final = 0
FIXED: Final = 1
DYNAMIC: Final = 2
GZIP_HEADER_BYTES: Final = 10
GZIP_TRAILER_BYTES: Final = 8
GZIP_MAGIC: Final = 0x00088B1F
"""The first four bytes of a member without names, as a little-endian number."""
CODE_AT: Final = 8
"""Where the bits of a code begin in a word whose lowest bits are their number."""
CODE_LENGTH_MASK: Final = 0x3F
"""The bits of that number, and no more than those by which a processor shifts."""

ORDER: Final = bytes((16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15))
"""In which the lengths of the codes for lengths of codes are written."""


def reversed_bits(value: int, bits: int) -> int:
    """Return the lowest `bits` bits of `value`, the last one first."""
    return int(f"{value:0{bits}b}"[::-1], 2) if bits else 0


def filled(bits: int, count: int, data: Source, at: int, end: int) -> tuple[int, int, int]:
    """Return 56 bits or more behind the `count` ones, how many count now, and where the next are read.

    Nothing is read beyond seven bytes behind `end`. Bits beyond those that count are right, or 0.
    """
    if at > end:
        return bits, count, at
    return (bits | little64(data, at) << count) % 2**64, count | 56, at + 7 - (count >> 3)


def flushed(bits: int, count: int, sink: Sink, to: int) -> tuple[int, int, int]:
    """Write eight bytes of bits; return those that are left when whole bytes count as written, their number, where the
    next go."""
    put_little64(sink, to, bits)
    return bits >> (count & 56), count & 7, to + (count >> 3)


def four_codes(codes: Words, data: Source, at: int) -> tuple[int, int]:
    """Return the bits of the codes for the four bytes from `at` on, the first one's lowest, and their number."""
    a, b, c, d = (codes[data[at + number]] for number in range(4))
    two = a >> CODE_AT | b >> CODE_AT << (a & CODE_LENGTH_MASK)
    four = c >> CODE_AT | d >> CODE_AT << (c & CODE_LENGTH_MASK)
    return two | four << (a + b & CODE_LENGTH_MASK), a + b + c + d & CODE_LENGTH_MASK


def bit_length(value: int) -> int:
    """Return how many bits a number takes."""
    return value.bit_length()


def trailing_zeros(value: int) -> int:
    """Return how many of the lowest bits of a number above 0 are 0."""
    return (value & -value).bit_length() - 1


def distance_number(distance: int) -> int:
    """Return the symbol that stands for a distance."""
    if distance < 5:
        return distance - 1
    bits = (distance - 1).bit_length() - 2
    return 2 * bits + 2 + (distance - 1 >> bits & 1)


def length_range(number: int) -> tuple[int, int]:
    """Return the shortest repeat that symbol 257 + `number` stands for, and how many extra bits follow it."""
    if number == LENGTHS - 1:
        return LONGEST_REPEAT, 0
    bits = max(0, number // 4 - 1)
    return 3 + (number if number < 4 else (4 + number % 4) << bits), bits


def distance_range(number: int) -> tuple[int, int]:
    """Return the smallest distance that symbol `number` stands for, and how many extra bits follow it."""
    bits = max(0, number // 2 - 1)
    return 1 + (number if number < 2 else (2 + number % 2) << bits), bits
