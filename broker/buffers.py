"""Output buffers that are used again: fresh ones cost more in page faults than the conversion itself."""

STANDARD_BYTES = 256 * 1024
KEPT = 4


class BufferPool:
    """Buffers of `STANDARD_BYTES`; larger ones are made for the occasion and not kept."""

    def __init__(self) -> None:
        self._kept: list[bytearray] = []

    def take(self, size_bytes: int) -> bytearray:
        """A buffer of at least `size_bytes`, holding anything."""
        if size_bytes > STANDARD_BYTES:
            return bytearray(size_bytes)
        return self._kept.pop() if self._kept else bytearray(STANDARD_BYTES)

    def give(self, buffer: bytearray) -> None:
        """Takes a buffer back that nobody looks at any more."""
        if len(buffer) == STANDARD_BYTES and len(self._kept) < KEPT:
            self._kept.append(buffer)
