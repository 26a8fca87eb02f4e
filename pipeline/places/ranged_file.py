"""One object, read by ranges: what is read in order is fetched ahead in pieces of 1 to 8 MiB, all else as asked.

No byte is fetched twice as long as reads go forward, and none behind `read_to`, which the reader says beforehand. A
jump of less than `NEAR_BYTES` forward counts as reading on: a piece costs a round trip, which is what object stores
have to give, so small gaps are cheaper read than left out.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

Fetch = Callable[[int, int], memoryview]
"""Start and end (open) to the bytes there; fewer at the object's end."""

FIRST_PIECE_BYTES = 1 << 20
LARGEST_PIECE_BYTES = 8 << 20
NEAR_BYTES = 1 << 20


class _ReadAhead(NamedTuple):
    """The piece that is being fetched, from this position on."""

    start: int
    data: Future[memoryview]


class RangedFile:
    """An object by its URI. Reading beyond `read_to` works, a request each."""

    def __init__(self, path: str, fetch: Fetch, ahead: ThreadPoolExecutor, read_to: int) -> None:
        self.path = path
        self._fetch = fetch
        self._ahead = ahead
        self._read_to = read_to
        self._start, self._data = 0, memoryview(b"")
        self._following: _ReadAhead | None = None
        self._piece_bytes = 0

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the object's end. Raises: DiskFault."""
        out = bytearray(size)
        return bytes(memoryview(out)[: self.read_into(out, position)])

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """How many bytes from `position` were put into `buffer`. Raises: DiskFault."""
        view = memoryview(buffer)
        done = 0
        while done < len(view):
            at = position + done - self._start
            if not 0 <= at < len(self._data):
                self._make_current(position + done, len(view) - done)
                at = position + done - self._start
            part = self._data[at : at + len(view) - done]
            if not part:
                break
            view[done : done + len(part)] = part
            done += len(part)
        return done

    def close(self) -> None:
        """Let go of what was fetched."""
        if self._following is not None:
            self._following.data.cancel()
            self._following = None
        self._data = memoryview(b"")

    def _make_current(self, position: int, size: int) -> None:
        """Make the piece that begins at `position` the current one, or one in which it lies."""
        before, following = self._start + len(self._data), self._following
        self._following = None
        if following is not None and not following.data.cancel() and following.start <= position:
            data = following.data.result()
            if position < following.start + len(data):
                self._start, self._data = following.start, data
                self._fetch_ahead(following.start + len(data))
                return
        in_order = bool(self._piece_bytes) and 0 <= position - before < NEAR_BYTES
        self._piece_bytes = self._next_piece_bytes() if in_order else size
        end = max(position + size, min(position + self._piece_bytes, self._read_to))
        if in_order or size >= FIRST_PIECE_BYTES:
            self._fetch_ahead(end)
        self._start, self._data = position, self._fetch(position, end)

    def _next_piece_bytes(self) -> int:
        """Twice as much, but the largest for a reader that has asked for much at once: it wants all."""
        if self._piece_bytes >= FIRST_PIECE_BYTES:
            return LARGEST_PIECE_BYTES
        return max(2 * self._piece_bytes, FIRST_PIECE_BYTES)

    def _fetch_ahead(self, start: int) -> None:
        """Begin to fetch what comes after the current piece, which ends at `start`."""
        if start < self._read_to:
            self._piece_bytes = self._next_piece_bytes()
            end = min(start + self._piece_bytes, self._read_to)
            self._following = _ReadAhead(start, self._ahead.submit(self._fetch, start, end))
