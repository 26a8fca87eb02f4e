"""What Python sees of compressed_batch.py, which is typed for Cython."""

from typing import Final, NamedTuple

COMPILED: bool
AT_ONCE_BYTES: Final = 131072
NO_FIRST_OFFSET: Final = -9223372036854775808
NO_LIMIT: Final = 9223372036854775807

class CompressedBatchLoop: ...

class ConversionProgress(NamedTuple):
    source_end: int
    result_end: int
    records: int
    temporary_bytes: int

def batch_loop_of_thread() -> CompressedBatchLoop: ...
def convert_compressed_batches(
    source: memoryview, at: int, target: int, out: bytearray | memoryview, end: int, most_opened: int = NO_LIMIT
) -> ConversionProgress: ...
def size_as_wrapper(batch: memoryview, target: int) -> int: ...
def convert_to_wrapper(batch: memoryview, target: int) -> tuple[bytearray, int, int] | None: ...
