"""Pieces that leave as they are, bytes and slices of files, for as far as the socket takes them.

Whoever waits for the socket is not woken to send on: the loop calls `push` itself when there is room again, since a
task's way there costs more than what it then does.
"""

from collections.abc import Sequence
from typing import cast

from ..protocol.primitives import BUFFER_TYPES
from ..protocol.schema import Piece
from ..storage.slices import FileSlice
from .wire import PlainWire

TURN_BYTES = 1 << 20
"""Of files sent in one go while the peer takes all: then others have their turn."""


class PlainRun:
    """Those of a response's pieces that are bytes or a file's; the others are taken out on the way.

    `sent` bytes of the first are gone already. `at` is the number of the first piece that is not sent whole,
    `file_bytes` what went out of files.
    """

    __slots__ = ("_pieces", "_sent", "_wire", "at", "file_bytes")

    def __init__(self, wire: PlainWire, pieces: Sequence[Piece], sent: int = 0) -> None:
        self._wire = wire
        self._pieces = pieces
        self._sent = sent  # of the piece `at`
        self.at = 0
        self.file_bytes = 0

    def push(self) -> bool:
        """Sends what the socket takes now, or one turn of it; True when the end is reached, or a piece of another kind.

        Raises: OSError when the peer has gone, EOFError when a file is shorter than its slice.
        """
        pieces, last = self._pieces, len(self._pieces) - 1
        turn_end = self.file_bytes + TURN_BYTES
        while self.at <= last:
            piece = pieces[self.at]
            if type(piece) in BUFFER_TYPES:
                if not self._push_bytes(cast(bytes, piece), more=self.at < last):
                    return False
            elif isinstance(piece, FileSlice):
                if not self._push_file(piece, turn_end):
                    return False
            else:
                return True
            self.at += 1
            self._sent = 0
        return True

    def take(self) -> Piece:
        """The piece of another kind that was reached, for somebody else to send before what follows."""
        self.at += 1
        return self._pieces[self.at - 1]

    def _push_bytes(self, data: bytes | bytearray | memoryview, *, more: bool) -> bool:
        sent = self._sent
        sent += self._wire.try_send(memoryview(data)[sent:] if sent else data, more=more)
        self._sent = sent
        return sent == len(data)

    def _push_file(self, piece: FileSlice, turn_end: int) -> bool:
        size = piece.size_bytes
        while self._sent < size:
            left = min(size - self._sent, turn_end - self.file_bytes)
            if left <= 0:
                return False
            taken = self._wire.try_send_file(piece.fileno(), piece.position + self._sent, left)
            self._sent += taken
            self.file_bytes += taken
            if taken < left:  # full: asking again would cost a call to hear so
                return False
        return True
