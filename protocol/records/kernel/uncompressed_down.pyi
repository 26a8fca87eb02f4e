"""What Python sees of uncompressed_down.py, which is typed for Cython."""

from ..record import Buffer
from .results import UncompressedDownResult

COMPILED: bool

def plan_chunk(source: Buffer, target: int, limit_bytes: int) -> tuple[int, int, bool, int]: ...
def convert_plain(
    source: Buffer,
    at: int,
    target: int,
    first_offset: int,
    out: bytearray | memoryview | None,
    out_at: int = 0,
) -> UncompressedDownResult: ...
