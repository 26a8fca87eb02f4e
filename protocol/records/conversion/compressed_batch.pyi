"""What Python sees of compressed_batch.py, which is typed for Cython."""

from typing import Final, NamedTuple

COMPILED: bool
SINGLE_BYTES: Final = 131072
NO_FIRST_OFFSET: Final = -9223372036854775808
NO_LIMIT: Final = 9223372036854775807

class SinglesDown: ...

class Singles(NamedTuple):
    at: int
    end: int
    records: int
    temporary_bytes: int

def singles_of_thread() -> SinglesDown: ...
def convert_singles(
    source: memoryview, at: int, target: int, out: bytearray | memoryview, end: int, most_opened: int = NO_LIMIT
) -> Singles: ...
def single_bytes(batch: memoryview, target: int) -> int: ...
def single_wrapper(batch: memoryview, target: int) -> tuple[bytearray, int, int] | None: ...
