"""How much of a slice that is converted a peer is offered at once.

A process of this host takes faster than we convert, and sleeps between two chunks: waking it is the dearest part of
giving it the next (docs/performance.md). So it is given a whole slice by one call, for which its socket has to have
room; others, chunk by chunk. Whoever left some of it is served step by step for a while: what it leaves of a chunk has
to be copied to where it can wait, and chunks behind that one were made in vain.
"""

import socket
from contextlib import suppress

from .buffer_pool import FOR_NOW_BYTES, STANDARD_BYTES

MOST_LARGE_BUFFERS = 8
LONGEST_PAUSE = 64
"""Slices after which who left some every time is offered one at once again, and who got no large buffer asks again."""


class LargeBuffers:
    """Send buffers for a whole slice, for `MOST_LARGE_BUFFERS` peers at a time: their memory is the kernel's, and in
    nobody's budget."""

    def __init__(self) -> None:
        self._left = MOST_LARGE_BUFFERS
        self._are_allowed = True

    def try_give(self, sock: socket.socket) -> int | None:
        """The size of the send buffer that `sock` had before it was given a large one, to be counted until `take_back`;
        None if it keeps what it has, as where the system's largest (`net.core.wmem_max`) is smaller."""
        if not self._left or not self._are_allowed:
            return None
        try:
            before = _send_buffer_bytes(sock)
            if before < FOR_NOW_BYTES:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, FOR_NOW_BYTES)
            if _send_buffer_bytes(sock) < FOR_NOW_BYTES:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, before)
                self._are_allowed = False
                return None
        except OSError:  # the peer has gone, which sending finds
            return None
        self._left -= 1
        return before

    def take_back(self, sock: socket.socket, left_bytes: int) -> None:
        """`sock` has no need of it any more: so much is left to it, if it lives."""
        self._left += 1
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, left_bytes)


class Appetite:
    """One peer's. `large`: where it gets a large send buffer, if it is a process of this host; without it, it is left
    no less than `grown_bytes`, to which the wire lets it grow only once."""

    __slots__ = ("_asks_in", "_before_bytes", "_grown_bytes", "_large", "_pause", "_skips", "_sock")

    def __init__(self, sock: socket.socket, large: LargeBuffers | None, grown_bytes: int = 0) -> None:
        self._sock = sock
        self._large = large
        self._grown_bytes = grown_bytes
        self._before_bytes: int | None = None  # of the send buffer, while it is a large one
        self._asks_in = 0
        self._pause = 1
        self._skips = 0

    def next_bytes(self, free_bytes: int) -> int:
        """The size of the buffer in which the next slice is made to be offered at once, where so much of the budget is
        free; 0 if it is sent step by step."""
        if self._skips:
            self._skips -= 1
            return 0
        if free_bytes >= 2 * FOR_NOW_BYTES and self._has_large():
            return FOR_NOW_BYTES
        return STANDARD_BYTES if free_bytes >= STANDARD_BYTES else 0

    def _has_large(self) -> bool:
        if self._before_bytes is not None:
            return True
        if self._large is None:
            return False
        if self._asks_in:
            self._asks_in -= 1
            return False
        self._before_bytes = self._large.try_give(self._sock)
        self._asks_in = LONGEST_PAUSE
        return self._before_bytes is not None

    def took_all(self) -> None:
        self._pause = 1

    def left_some(self) -> None:
        """It is served step by step for a while. Who does so again and again lets others have the large buffer."""
        self._skips = self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        if self._pause == LONGEST_PAUSE:
            self._give_back()

    def close(self) -> None:
        """Nothing is offered any more."""
        self._give_back()
        self._large = None

    def _give_back(self) -> None:
        if self._large is not None and self._before_bytes is not None:
            self._large.take_back(self._sock, max(self._before_bytes, self._grown_bytes))
        self._before_bytes, self._asks_in = None, LONGEST_PAUSE


def _send_buffer_bytes(sock: socket.socket) -> int:
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2  # Linux doubles it
