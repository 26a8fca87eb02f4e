"""A response's pieces on their way out, for as far as the socket takes them.

Whoever waits for the socket is not woken to send on: the loop calls `push` itself when there is room again, since a
task's way there costs more than what it then does.
"""

from collections.abc import Sequence
from typing import cast

from ...protocol.primitives import BUFFER_TYPES
from ...protocol.schema import Piece
from ...storage.files.file_slice import FileSlice
from .buffer_pool import BufferPool
from .held_chunk import NOTHING, HeldChunk
from .lazy_piece import Chunks, LazyPiece
from .memory_budget import MemoryBudget
from .transport import PlainWire

TURN_BYTES = 1 << 20
"""Sent in one go, of files or of what is converted, while the peer takes all: then others have their turn. To convert
so much takes about 0.6 ms; looking at the loop after each chunk would cost a tenth of that."""

SLICE_BYTES = 16 * 1024
"""What a slice counts for in a turn beside its bytes: ten thousand small ones, 20 µs each, would be one turn else."""

SMALL_BYTES = 32 * 1024
"""What `make` made, as the padding of a slice, that waits for what follows: the peer is not woken for it alone."""


class Outflow:
    """Bytes, slices of files, and slices that are converted on the way; `sent` bytes of the first are gone already.

    `file_bytes` went out of files, `converted_bytes` of what was converted. A slice that cannot go on without waiting
    for memory or for a worker halts the flow: `chunks` are its own then, of which `remaining_bytes` are to come, and
    `held` what it holds, if anything.
    """

    __slots__ = (
        "_at",
        "_budget",
        "_buffers",
        "_pieces",
        "_sent",
        "_turn_left",
        "_wire",
        "chunks",
        "converted_bytes",
        "file_bytes",
        "held",
        "remaining_bytes",
        "unsent_bytes",
    )

    def __init__(
        self, wire: PlainWire, budget: MemoryBudget, buffers: BufferPool, pieces: Sequence[Piece], sent: int = 0
    ) -> None:
        self._wire = wire
        self._budget = budget
        self._buffers = buffers
        self._pieces = pieces
        self._at = 0  # the number of the first piece that is not sent whole
        self._sent = sent  # of that piece, or of its chunk
        self._turn_left = 0
        self.file_bytes = self.converted_bytes = 0
        self.chunks: Chunks | None = None
        self.held: HeldChunk | None = None
        self.remaining_bytes = 0
        self.unsent_bytes = 0
        """The size of the chunk that was made and not sent whole, 0 if there is none. It was dropped if not `held`."""

    @property
    def is_over(self) -> bool:
        return self._at == len(self._pieces)

    @property
    def converts(self) -> bool:
        """Whether any of it is converted on the way."""
        return any(type(piece) not in BUFFER_TYPES and not isinstance(piece, FileSlice) for piece in self._pieces)

    def push(self) -> bool:
        """Sends what the socket takes now, or one turn of it; True when all is sent, or at a halt.

        Raises: OSError when the peer has gone, EOFError when a file is shorter than its slice.
        """
        pieces, last = self._pieces, len(self._pieces) - 1
        self._turn_left = TURN_BYTES
        while self._at <= last:
            piece = pieces[self._at]
            if type(piece) in BUFFER_TYPES:
                if type(piece) is bytearray and self._at < last and not self._sent:
                    is_begun = self._push_at_once(piece, pieces[self._at + 1])
                    if is_begun:
                        continue
                    if is_begun is False:
                        return False
                if not self._push_bytes(cast(bytes, piece), more=self._at < last):
                    return False
            elif isinstance(piece, FileSlice):
                if not self._push_file(piece):
                    return False
                self._turn_left -= SLICE_BYTES
            else:
                pushed = self._push_lazy(cast(LazyPiece, piece))
                if pushed is not True:
                    return pushed is None
                self._turn_left -= SLICE_BYTES
            self._at += 1
            self._sent = 0
        return True

    def take_up(self, done_bytes: int, held: HeldChunk) -> None:
        """After a halt: so many bytes more of the slice are sent, and `held` has its next chunk, or room for it."""
        self.held = held
        self._count(done_bytes)
        held.data = held.data[: self.remaining_bytes]
        self.unsent_bytes, self._sent = len(held.data), held.sent
        if held.sent:
            held.offer()

    def resume(self, held: HeldChunk) -> None:
        """After a halt: the chunk that was dropped has been made again.

        Raises: EOFError when it came out shorter, which its file changed for.
        """
        self.held = held
        if len(held.data) < self.unsent_bytes:
            raise EOFError(f"{len(held.data)} bytes of a chunk, of which {self.unsent_bytes} had been promised")
        held.data = held.data[: self.unsent_bytes]

    def close(self) -> None:
        """Nothing more is sent. Memory is given back, and the pieces that were not sent hear it."""
        self._let_go()
        for unsent in self._pieces[self._at :]:
            if type(unsent) not in BUFFER_TYPES and not isinstance(unsent, FileSlice):
                cast(LazyPiece, unsent).done()
        self._at = len(self._pieces)

    def _push_bytes(self, data: bytes | bytearray | memoryview, *, more: bool) -> bool:
        sent = self._sent
        sent += self._wire.try_send(memoryview(data)[sent:] if sent else data, more=more)
        self._sent = sent
        if sent < len(data):
            self._let_go()
            return False
        return True

    def _push_file(self, piece: FileSlice) -> bool:
        size = piece.size_bytes
        while self._sent < size:
            left = min(size - self._sent, self._turn_left)
            if left <= 0:
                self._let_go()
                return False
            taken = self._wire.try_send_file(piece.fileno(), piece.position + self._sent, left)
            self._sent += taken
            self._turn_left -= taken
            self.file_bytes += taken
            if taken < left:  # full: asking again would cost a call to hear so
                self._let_go()
                return False
        return True

    def _push_at_once(self, head: bytearray, piece: Piece) -> bool | None:
        """Sends a head and, by the same call, the slice behind it that is converted: True when that is begun or over;
        False when the turn is, or the socket is full; None if these are not sent so. A slice that is begun may take a
        whole turn, whatever is left of this one: cut, it would take the steps that this saves.
        """
        if type(piece) in BUFFER_TYPES or isinstance(piece, FileSlice):
            return None
        if self._turn_left < TURN_BYTES // 2:
            self._let_go()
            return False
        lazy, appetite = cast(LazyPiece, piece), self._wire.appetite
        size = appetite.next_bytes(self._budget.free_bytes) if lazy.goes_at_once(self._wire) else 0
        claim = self._budget.try_claim(size) if size else None
        if claim is None:
            return None
        with claim:
            begun = lazy.send_at_once(head, self._wire, self._buffers.for_now(size), TURN_BYTES)
        if begun is None:
            return None
        if begun.head_bytes < len(head):
            appetite.left_some()
            self._sent = begun.head_bytes
            return False
        self._at += 1
        self.remaining_bytes = lazy.size_bytes
        self._count(begun.done_bytes)
        if not self.remaining_bytes:
            appetite.took_all()
            lazy.done()
            self._at += 1
            self._turn_left -= SLICE_BYTES
            return True
        self.chunks = chunks = cast(Chunks, begun.chunks)
        if not begun.unsent:
            return True
        appetite.left_some()
        self.unsent_bytes, self._sent = len(begun.unsent), begun.taken_bytes
        held = self._room_for(chunks)
        if held is not None:
            held.fill(begun.unsent)
            held.offer()
        return False

    def _push_lazy(self, piece: LazyPiece) -> bool | None:
        """Whether all of it is sent; None at a halt."""
        chunks = self.chunks
        if chunks is None:
            if self._turn_left < TURN_BYTES // 2:  # a slice is mostly a turn: begun now, it would take two
                self._let_go()
                return False
            chunks = self.chunks = piece.chunks()
            self.remaining_bytes = piece.size_bytes
        while self.remaining_bytes:
            if self.unsent_bytes:
                if self.held is None or self.held.was_dropped:
                    return None
                if not self._push_chunk(chunks, self.held):
                    return False
                continue
            if self._turn_left <= 0:
                self._let_go()
                return False
            shared, is_for_later = chunks.send_shared(self._wire, self.remaining_bytes, self._turn_left)
            self._count(shared)
            if is_for_later:
                self._let_go()
                return False
            if shared:
                continue
            held = self._room_for(chunks)
            if held is None:
                return None
            done, held.data, self._sent = chunks.run(held.buffer, self._wire, self.remaining_bytes, self._turn_left)
            self._count(done)
            self.unsent_bytes = len(held.data)
            if self._sent:
                held.offer()
                return False
            if not self.unsent_bytes and not done:
                if chunks.needs_worker:  # another claim is for that
                    self._let_go()
                return None
        piece.done()
        self.chunks = None
        return True

    def _push_chunk(self, chunks: Chunks, held: HeldChunk) -> bool:
        held.keep()
        is_small = self.unsent_bytes <= SMALL_BYTES and self._at < len(self._pieces) - 1
        self._sent += self._wire.try_send(held.data[self._sent :], more=is_small)
        if self._sent < self.unsent_bytes:
            held.offer()
            return False
        chunks.advance()
        held.data = NOTHING
        self._count(self.unsent_bytes)
        self.unsent_bytes = self._sent = 0
        if held.was_offered:  # who stalls now and then would hold it for ever, and those who wait get none
            self._let_go()
        return True

    def _room_for(self, chunks: Chunks) -> HeldChunk | None:
        """What the next chunk takes, charged to the budget; None if that has to be waited for, or a worker."""
        if self.held is not None and (
            chunks.needs_worker or not self.held.is_for(chunks.claim_bytes, chunks.buffer_bytes)
        ):
            self._let_go()
        if self.held is None and not chunks.needs_worker:
            claim = self._budget.try_claim(chunks.claim_bytes)
            if claim is not None:
                self.held = HeldChunk(claim, self._buffers, chunks.buffer_bytes)
        return self.held

    def _count(self, done_bytes: int) -> None:
        self.remaining_bytes -= done_bytes
        self._turn_left -= done_bytes
        self.converted_bytes += done_bytes

    def _let_go(self) -> None:
        held, self.held = self.held, None
        if held is not None:
            held.drop()
