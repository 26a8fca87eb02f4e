"""How much of a slice that is converted a peer is offered at once.

A process of this host takes faster than we convert, and sleeps between two chunks: waking it is the dearest part of
giving it the next (docs/performance.md). So it is given a whole slice by one call, for which its socket has to have
room; others, chunk by chunk. Whoever left some of it is served step by step for a while: what it leaves of a chunk has
to be copied to where it can wait, and chunks behind that one were made in vain.
"""

import socket
from contextlib import suppress

from .buffers import FOR_NOW_BYTES, STANDARD_BYTES

MOST_LARGE_BUFFERS = 8
LEAST_BUDGETS = 8
"""Of a budget that is not so many times as large nothing is claimed for whole slices."""
LONGEST_PAUSE = 64
"""Slices after which who left some every time is offered one at once again."""


class LargeBuffers:
    """Send buffers for a whole slice, for `MOST_LARGE_BUFFERS` peers at a time: their memory is the kernel's, and in
    nobody's budget."""

    def __init__(self) -> None:
        self._left = MOST_LARGE_BUFFERS

    def try_give(self, sock: socket.socket) -> bool:
        """Whether `sock` has such a buffer now, to be counted until `take_back`. Not where the system's largest
        (`net.core.wmem_max`) is smaller."""
        if not self._left:
            return False
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, FOR_NOW_BYTES)
            if sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2 >= FOR_NOW_BYTES:  # Linux doubles it
                self._left -= 1
                return True
        return False

    def take_back(self) -> None:
        self._left += 1


class Appetite:
    """One peer's. `large`: where it gets a large send buffer, if it is a process of this host."""

    __slots__ = ("_has_large", "_large", "_pause", "_skips", "_sock")

    def __init__(self, sock: socket.socket, large: LargeBuffers | None) -> None:
        self._sock = sock
        self._large = large
        self._has_large = False
        self._pause = 1
        self._skips = 0

    def next_bytes(self, budget_bytes: int) -> int:
        """The size of the buffer in which the next slice is made to be offered at once, a small part of the budget; 0
        if it is sent step by step."""
        if self._skips:
            self._skips -= 1
            return 0
        if budget_bytes < LEAST_BUDGETS * FOR_NOW_BYTES:
            return STANDARD_BYTES
        if self._large is not None and not self._has_large:
            self._has_large = self._large.try_give(self._sock)
            if not self._has_large:
                self._large = None
        return FOR_NOW_BYTES if self._has_large else STANDARD_BYTES

    def took_all(self) -> None:
        self._pause = 1

    def left_some(self) -> None:
        self._skips = self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Nothing is offered any more."""
        if self._has_large and self._large is not None:
            self._large.take_back()
        self._has_large, self._large = False, None
