"""What fills a promise where the conversion ends before it: the beginning of a message that is larger than the rest.

    offset -1 (8) | size max(remaining + 1, 61) (4) | zeros; a new one every 131072 bytes

Every client takes it for a message it has to fetch again.
"""

from struct import Struct

OVERFLOW_ENTRY = Struct(">qi")
SMALLEST_OVERFLOW = 61
PADDING_BYTES = 128 * 1024

_ZEROS = bytes(PADDING_BYTES)


def write_overflow(out: bytearray | memoryview, promised_bytes: int) -> int:
    """Write an overflow entry over what is left of a promise, over 128 KiB at most: how much of the promise that is."""
    size = max(OVERFLOW_ENTRY.size, min(promised_bytes, PADDING_BYTES))
    out[:size] = _ZEROS[:size]
    OVERFLOW_ENTRY.pack_into(out, 0, -1, max(promised_bytes + 1, SMALLEST_OVERFLOW))
    return min(size, promised_bytes)
