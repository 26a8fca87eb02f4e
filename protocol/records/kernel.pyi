"""What Python sees of the kernel; kernel.py itself is typed for Cython, which checks it."""

from .record import Buffer

COMPILED: bool

def crc32(data: Buffer, crc: int = 0) -> int: ...
def crc32c(data: Buffer, crc: int = 0) -> int: ...
def xxh32(data: Buffer) -> int: ...
def plan(source: Buffer, target: int, limit_bytes: int) -> tuple[int, int, bool, int]: ...
def convert_plain(
    source: Buffer,
    at: int,
    target: int,
    first_offset: int,
    out: bytearray | memoryview | None,
    out_at: int = 0,
    one: bool = False,
) -> tuple[int, int, int, int, int, bool]: ...
