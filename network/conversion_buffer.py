"""A buffer, charged to the memory budget, in which one part of a down-converted slice is built and from which it is
sent.
"""

from .memory_budget import Claim
from .output_buffer_pool import STANDARD_BYTES, BufferPool

NOTHING = memoryview(b"")


class ClaimedBuffer:
    """A buffer with the claim that pays for it; `data` is what it was filled with."""

    __slots__ = ("_buffers", "_claim", "_is_lent", "_is_unwanted", "buffer", "data", "was_dropped")

    def __init__(self, claim: Claim, buffers: BufferPool, size_bytes: int) -> None:
        self._claim = claim
        self._buffers = buffers
        try:
            self.buffer = buffers.take(size_bytes)
        except MemoryError:
            claim.release()
            raise
        self.data = NOTHING
        self.was_dropped = self._is_lent = self._is_unwanted = False

    def is_for(self, claim_bytes: int, buffer_bytes: int) -> bool:
        """Whether what takes so much, and not less, can be made here."""
        return self._claim.size_bytes == claim_bytes and len(self.buffer) >= buffer_bytes

    def lend(self) -> None:
        """A thread works with the buffer until `take_back`: dropped meanwhile, it is so then."""
        self._is_lent = True

    def take_back(self) -> None:
        self._is_lent = False
        if self._is_unwanted:
            self.drop()

    def offer(self, *, at_once: bool = False) -> None:
        """The peer stalls, or it is not its turn: others may have the memory."""
        self._claim.reclaimable(self.drop, at_once=at_once)

    def keep(self) -> None:
        self._claim.in_use()

    def keep_only(self, size_bytes: int, *, surplus_bytes: int = STANDARD_BYTES) -> None:
        """It holds so many bytes: from here on only they are held, in a buffer with at most that surplus, not what
        making them took.

        Raises: MemoryError; then nothing is held.
        """
        self.data = memoryview(self.buffer)[:size_bytes]
        if len(self.buffer) - size_bytes > surplus_bytes:
            try:
                kept = bytearray(self.data)
            except MemoryError:
                self.drop()
                raise
            self._buffers.give(self.buffer)
            self.buffer, self.data = kept, memoryview(kept)
        self._claim.shrink(len(self.buffer))

    def drop(self) -> None:
        """Gives buffer and claim back; again is harmless."""
        if self._is_lent:
            self._is_unwanted = True
        elif not self.was_dropped:
            self.was_dropped = True
            self.data = NOTHING
            self._buffers.give(self.buffer)
            self.buffer = bytearray()
            self._claim.release()
