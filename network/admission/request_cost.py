"""The memory that a parsed request takes while it is handled or waits.

Items of about 16 bytes become objects: a partition of a waiting fetch takes 385 bytes, 24 times its bytes in the frame
(`tests/fault/test_waiting_fetches.py`). Records are not parsed.
"""

from struct import Struct

from ...protocol.api import ApiKey

FREE_BYTES = 4 * 1024
"""Frames up to this size are not charged: almost all requests."""
BYTES_A_BYTE = 24

_KEY = Struct(">h")


def memory_bytes_of(frame: memoryview) -> int:
    """The memory that a frame of more than `FREE_BYTES` takes once it is parsed; 0 if it need not be claimed."""
    if _KEY.unpack_from(frame)[0] == ApiKey.PRODUCE:
        return 0
    return len(frame) * BYTES_A_BYTE
