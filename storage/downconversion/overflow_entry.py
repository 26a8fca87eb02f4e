"""Fills up a promised size when the conversion ends before it, with the start of a message larger than the rest.

    offset -1 (8) | size max(remaining + 1, 61) (4) | zeros; a new one every 131072 bytes

Every client takes it for an incomplete message, which it has to fetch again.
"""

from struct import Struct

OVERFLOW_ENTRY = Struct(">qi")
SMALLEST_OVERFLOW = 61
PADDING_BYTES = 128 * 1024

_ZEROS = bytes(PADDING_BYTES)


def write_overflow_entry(out: bytearray | memoryview, remaining_bytes: int) -> int:
    """Writes an overflow entry over the rest of a promise, at most 128 KiB; returns its part of `remaining_bytes`."""
    size = max(OVERFLOW_ENTRY.size, min(remaining_bytes, PADDING_BYTES))
    out[:size] = _ZEROS[:size]
    OVERFLOW_ENTRY.pack_into(out, 0, -1, max(remaining_bytes + 1, SMALLEST_OVERFLOW))
    return min(size, remaining_bytes)
