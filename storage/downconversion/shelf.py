"""Memory that chunks are put into, one behind the other, and that is given up all at once."""

import mmap
from typing import Protocol

SHELF_BYTES = 1 << 20


class Held(Protocol):
    """Memory that is charged to a budget."""

    def release(self) -> None: ...


class Shelf:
    """`SHELF_BYTES`, filled from the front. Mapped by itself, so that the system has it back at once."""

    __slots__ = ("_claim", "_filled_bytes", "memory")

    def __init__(self, claim: Held) -> None:
        """Takes `claim` over. Raises: OSError when the system has no memory; the claim is released then."""
        self._filled_bytes = 0
        self._claim = claim
        try:
            self.memory = mmap.mmap(-1, SHELF_BYTES)
        except OSError:
            claim.release()
            raise

    @property
    def left_bytes(self) -> int:
        return SHELF_BYTES - self._filled_bytes

    def room(self, size_bytes: int) -> memoryview:
        """The next `size_bytes`, to be released before the shelf is."""
        with memoryview(self.memory) as all_of_it:
            return all_of_it[self._filled_bytes : self._filled_bytes + size_bytes]

    def fill(self, size_bytes: int, beside_bytes: int) -> int:
        """Where the `size_bytes` begin that were put into its `room`."""
        at = self._filled_bytes
        self._filled_bytes += size_bytes + beside_bytes
        return at

    def empty(self) -> None:
        self._filled_bytes = 0

    def release(self) -> None:
        """Gives the memory back to the system and to the budget."""
        self.memory.close()
        self._claim.release()
