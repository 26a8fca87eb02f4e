"""Runs a decompressed record stream through a kernel loop, holding one input piece, one output piece and one record.

The kernel takes the whole records and says how many bytes or how much room it needs to go on. A record above
`GIANT_BYTES` is not held: the caller may take it piece by piece (`large_record_in_pieces.py`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from ...errors import InvalidRecord
from ..record import Buffer

OUT_BYTES: Final = 128 * 1024
GIANT_BYTES: Final = 1024 * 1024

Write = Callable[[Buffer], None]


class Loop(Protocol):
    """A loop of the kernel over a stream (`kernel/decompressed_stream.py`)."""

    def feed(self, data: Buffer, at: int, out: Buffer) -> tuple[int, int, int]:
        """Returns: position reached, bytes written to `out`, and what it needs to go on: 0 for more bytes, n for n
        bytes from the position on, -n for n bytes of room.
        """


class RecordStream:
    """A stream that comes in pieces, each of which may be overwritten when the next one is taken.

    `data` from position `at` on has come and is not used yet.
    """

    def __init__(self, chunks: Iterable[Buffer]) -> None:
        self._chunks: Iterator[Buffer] = iter(chunks)
        self._held = bytearray()
        self.data: Buffer = b""
        self.at = 0

    def __len__(self) -> int:
        return len(self.data) - self.at

    def take_piece(self) -> bool:
        """Take another piece; False at the end of the stream. Raises: as the codec does."""
        if not len(self):
            self._held = bytearray()
        elif self.data is not self._held or self.at:
            self._held = bytearray(memoryview(self.data)[self.at :])
        self.data, self.at = self._held, 0
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        if self._held:
            self._held += chunk
        else:
            self.data = chunk
        return True

    def need(self, size: int) -> None:
        """Take pieces until `size` bytes are there or the stream ends."""
        while len(self) < size and self.take_piece():
            pass

    def advance(self, wanted: int) -> bool:
        """Take pieces until `wanted` bytes are there, one piece at least; False when the stream ends before."""
        before = len(self)
        self.need(max(wanted, before + 1))
        return len(self) > before and len(self) >= wanted

    def take(self, size: int) -> Iterator[memoryview]:
        """Yield the next `size` bytes as views. Raises: InvalidRecord when the stream ends before."""
        while size:
            if not len(self) and not self.take_piece():
                raise InvalidRecord(f"a stream ends {size} bytes before its record does")
            piece = memoryview(self.data)[self.at : self.at + size]
            self.at += len(piece)
            size -= len(piece)
            yield piece


def run_loop(
    pieces: RecordStream,
    loop: Loop,
    write: Write,
    *,
    out: bytearray | None = None,
    giant: Callable[[], None] | None = None,
) -> None:
    """Feed the stream to a loop until it ends, and hand what the loop writes to `write`.

    `giant` takes a record above `GIANT_BYTES` from the pieces by itself.

    Raises: CorruptRecord, InvalidRecord, RecordTooLarge as the loop and the codec find them.
    """
    out = bytearray(OUT_BYTES) if out is None else out
    while True:
        pieces.at, written, wanted = loop.feed(pieces.data, pieces.at, out)
        if written:
            write(memoryview(out)[:written])
        if wanted < 0:
            if -wanted > len(out):
                out = bytearray(-wanted)
        elif giant is not None and wanted > GIANT_BYTES:
            giant()
        elif not pieces.advance(wanted):
            return
