"""What Python sees of decompressed_stream.py, which is typed for Cython."""

from ..record import Buffer

COMPILED: bool

class Stream:
    def feed(self, data: Buffer, at: int, out: Buffer) -> tuple[int, int, int]: ...
