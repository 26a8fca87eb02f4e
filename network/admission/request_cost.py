"""What a request takes in memory once it is read, while it waits for its turn or for others.

Items of some 16 bytes become objects: a partition of a fetch that waits takes 385 bytes, 24 times its part of the frame
(`tests/fault/test_waiting_fetches.py`). Records stay bytes.
"""

from struct import Struct

from ...protocol.api import ApiKey

FREE_BYTES = 4 * 1024
"""Of a frame that costs nothing: almost all requests."""
BYTES_A_BYTE = 24

_KEY = Struct(">h")


def memory_bytes_of(frame: memoryview) -> int:
    """The memory that a frame takes once it is parsed; 0: not worth claiming."""
    if len(frame) <= FREE_BYTES or _KEY.unpack_from(frame)[0] == ApiKey.PRODUCE:
        return 0
    return len(frame) * BYTES_A_BYTE
