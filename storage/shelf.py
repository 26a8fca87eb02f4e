"""Memory that chunks are put into, one behind the other, and that is given up all at once."""

import mmap
from typing import Protocol

SHELF_BYTES = 1 << 20


class Held(Protocol):
    """Memory that is charged to a budget."""

    def release(self) -> None: ...


class Shelf:
    """`SHELF_BYTES`, filled from the front. Mapped by itself, so that the system has it back at once."""

    __slots__ = ("_claim", "_filled_bytes", "_memory")

    def __init__(self, claim: Held) -> None:
        """Takes `claim` over. Raises: OSError when the system has no memory; the claim is released then."""
        self._filled_bytes = 0
        self._claim = claim
        try:
            self._memory = mmap.mmap(-1, SHELF_BYTES)
        except OSError:
            claim.release()
            raise

    def put(self, data: memoryview, beside_bytes: int) -> int:
        """Where `data` begins now, -1 when there is no room for it and the `beside_bytes` that come with it."""
        at, end = self._filled_bytes, self._filled_bytes + len(data)
        if end + beside_bytes > SHELF_BYTES:
            return -1
        self._memory[at:end] = data
        self._filled_bytes = end + beside_bytes
        return at

    def view(self, at: int, size_bytes: int) -> memoryview:
        """To be released before the shelf is."""
        with memoryview(self._memory) as all_of_it:
            return all_of_it[at : at + size_bytes]

    def empty(self) -> None:
        self._filled_bytes = 0

    def release(self) -> None:
        """Gives the memory back to the system and to the budget."""
        self._memory.close()
        self._claim.release()
