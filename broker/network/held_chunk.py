"""The memory of a converted chunk while it is made and sent."""

from .buffer_pool import STANDARD_BYTES, BufferPool
from .memory_budget import Claim

NOTHING = memoryview(b"")


class HeldChunk:
    """A buffer with the claim that pays for it; `data` is the chunk that was made in it, of which `sent` bytes went."""

    __slots__ = ("_buffers", "_claim", "_lent", "_unwanted", "buffer", "data", "sent", "was_dropped", "was_offered")

    def __init__(self, claim: Claim, buffers: BufferPool, size_bytes: int) -> None:
        self._claim = claim
        self._buffers = buffers
        try:
            self.buffer = buffers.take(size_bytes)
        except MemoryError:
            claim.release()
            raise
        self.data = NOTHING
        self.sent = 0
        self.was_dropped = self.was_offered = False
        self._lent = False
        self._unwanted = False

    def is_for(self, claim_bytes: int, buffer_bytes: int) -> bool:
        """Whether a chunk that takes so much, and not less, can be made here."""
        return self._claim.size_bytes == claim_bytes and len(self.buffer) >= buffer_bytes

    def fill(self, made: memoryview) -> None:
        """The chunk is a copy of `made`, which lies in a buffer that is not ours."""
        self.data = memoryview(self.buffer)[: len(made)]
        self.data[:] = made

    def lend(self) -> None:
        """A thread works with the buffer until `take_back`: dropped meanwhile, it is so then."""
        self._lent = True

    def take_back(self) -> None:
        self._lent = False
        if self._unwanted:
            self.drop()

    def offer(self) -> None:
        """The peer stalls: others may have the memory."""
        self.was_offered = True
        self._claim.reclaimable(self.drop)

    def keep(self) -> None:
        self._claim.in_use()

    def keep_only(self, made: memoryview) -> None:
        """The chunk is `made`: from here on only its bytes are held, not what making them took.

        Raises: MemoryError; then nothing is held.
        """
        self.data = made
        if len(self.buffer) - STANDARD_BYTES > max(len(made), STANDARD_BYTES):
            try:
                kept = self._buffers.take(len(made))
            except MemoryError:
                self.drop()
                raise
            kept[: len(made)] = made
            self._buffers.give(self.buffer)
            self.buffer, self.data = kept, memoryview(kept)[: len(made)]
        self._claim.shrink(len(self.buffer))

    def drop(self) -> None:
        """Gives buffer and claim back; again is harmless."""
        if self._lent:
            self._unwanted = True
        elif not self.was_dropped:
            self.was_dropped = True
            self.data = NOTHING
            self._buffers.give(self.buffer)
            self.buffer = bytearray()
            self._claim.release()
