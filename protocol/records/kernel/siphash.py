"""SipHash-2-4 of 128 bits (Aumasson and Bernstein): the readable twin of the one inlined into the offset map."""

from __future__ import annotations

from .numbers import Source

_BEGIN = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_WORD = 2**64


def sip_hash(key0: int, key1: int, data: Source, at: int, size: int) -> tuple[int, int]:
    """Return the two words of the hash of `size` bytes from `at` on."""
    a, b, c, d = (word ^ key for word, key in zip(_BEGIN, (key0, key1, key0, key1), strict=True))
    v = (a, b ^ 0xEE, c, d)
    padded = bytes(data[at : at + size])
    padded += bytes(7 - size % 8) + bytes((size % 256,))  # the last word ends in the size
    for begin in range(0, len(padded), 8):
        word = int.from_bytes(padded[begin : begin + 8], "little")
        a, b, c, d = _mix((v[0], v[1], v[2], v[3] ^ word), 2)
        v = (a ^ word, b, c, d)
    a, b, c, d = _mix((v[0], v[1], v[2] ^ 0xEE, v[3]), 4)
    low = a ^ b ^ c ^ d
    a, b, c, d = _mix((a, b ^ 0xDD, c, d), 4)
    return low, a ^ b ^ c ^ d


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) % _WORD


def _mix(v: tuple[int, int, int, int], rounds: int) -> tuple[int, int, int, int]:
    a, b, c, d = v
    for _ in range(rounds):
        a = (a + b) % _WORD
        b = _rotate(b, 13) ^ a
        a = _rotate(a, 32)
        c = (c + d) % _WORD
        d = _rotate(d, 16) ^ c
        a = (a + d) % _WORD
        d = _rotate(d, 21) ^ a
        c = (c + b) % _WORD
        b = _rotate(b, 17) ^ c
        c = _rotate(c, 32)
    return a, b, c, d
