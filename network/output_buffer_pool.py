"""Reuses output buffers: the page faults of fresh ones cost more than the conversion itself."""

STANDARD_BYTES = 256 * 1024
KEPT = 4
FORGOTTEN_A_RETURN = 1 / 16


class BufferPool:
    """Buffers of `STANDARD_BYTES`; larger ones are made when needed and not kept.

    Lent and kept buffers together are as many as were lent at once recently, at least `KEPT`, since readers come in
    waves. When all buffers are back, only `KEPT` stay.
    """

    def __init__(self) -> None:
        self._kept: list[bytearray] = []
        self._out = 0
        self._most_out = float(KEPT)

    def take(self, size_bytes: int) -> bytearray:
        """Returns a buffer of at least `size_bytes` with any content."""
        if size_bytes > STANDARD_BYTES:
            return bytearray(size_bytes)
        self._out += 1
        if self._out > self._most_out:
            self._most_out = float(self._out)
        return self._kept.pop() if self._kept else bytearray(STANDARD_BYTES)

    def give(self, buffer: bytearray) -> None:
        """Takes back a buffer that is not used any more."""
        if len(buffer) != STANDARD_BYTES:
            return
        self._out -= 1
        self._kept.append(buffer)
        if len(self._kept) + self._out <= KEPT:
            return
        forgotten = FORGOTTEN_A_RETURN if self._out else self._most_out
        self._most_out = max(self._most_out - forgotten, float(KEPT))
        del self._kept[max(0, int(self._most_out) - self._out) :]
