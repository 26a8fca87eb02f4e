"""A connection's bytes, in and out, without waiting; and waiting for room or for bytes, without bytes.

`PlainWire` is a raw non-blocking socket watched by the loop. Not an asyncio transport: those copy what a slow reader
has not taken, have no sendfile under uvloop, and may not share their socket with `add_writer`.
"""

import asyncio
import os
import select
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from typing import Any

from .appetite import Appetite, LargeBuffers

MSG_MORE = getattr(socket, "MSG_MORE", 0)

_numbers = count(1)


class PlainWire:
    """An accepted TCP socket. `sent_bytes` is what it took so far; `on_readable` is called whenever there are bytes, or
    the end, to be read; `number` is no other's. When it is full its send buffer grows, to `grown_bytes` at most
    (`drive`). `appetite` tells how much its peer is to be offered at once.
    """

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        grown_bytes: int | None = None,
        large: LargeBuffers | None = None,
    ) -> None:
        """`large`: where a peer that is a process of this host gets a large send buffer."""
        sock.setblocking(False)
        self.appetite = Appetite(sock, large, grown_bytes or 0)
        self._most_buffer_bytes = grown_bytes or 0
        self._buffer_bytes = 0  # 0 until it grows
        self.number = next(_numbers)
        self._sock = sock
        self._loop = loop
        self._fd = sock.fileno()
        self._room: asyncio.Future[None] | None = None
        self._push: Callable[[], bool] | None = None
        self._reading = False
        self._writing = False
        self._closed = False
        self._lent = False
        self.sent_bytes = 0
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLOUT)

    def watch(self, on_readable: Callable[[], None]) -> None:
        """Starts calling `on_readable`."""
        if not self._reading and not self._closed:
            self._reading = True
            self._loop.add_reader(self._fd, on_readable)

    def unwatch(self) -> None:
        """Stops calling back: bytes stay with the kernel, which stops the peer."""
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def try_receive(self, most_bytes: int) -> bytes | None:
        """What has arrived, b"" at the end of the stream, None when nothing is there yet."""
        try:
            return self._sock.recv(most_bytes)
        except (BlockingIOError, InterruptedError):
            return None

    def try_send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> int:
        """Bytes taken, 0 when there is no room. `more`: the rest of the response follows at once."""
        try:
            sent = self._sock.send(data, MSG_MORE if more else 0)
        except (BlockingIOError, InterruptedError):
            return 0
        self.sent_bytes += sent
        return sent

    def fileno(self) -> int:
        """The descriptor, for who sends without `try_send`, and says so by `took`; -1 once the wire is closed.

        The number that it had may be another connection's by then.
        """
        return self._sock.fileno()

    def took(self, size_bytes: int) -> None:
        """Counts bytes that the socket was given by its descriptor."""
        self.sent_bytes += size_bytes

    def try_send_file(self, file_fd: int, position: int, size_bytes: int) -> int:
        """Bytes that went from file to socket inside the kernel, 0 when there is no room.

        Raises EOFError past the file's end.
        """
        try:
            sent = os.sendfile(self._sock.fileno(), file_fd, position, size_bytes)
        except (BlockingIOError, InterruptedError):
            return 0
        if sent == 0 and size_bytes:
            raise EOFError("the file ends before the slice does")
        self.sent_bytes += sent
        return sent

    def has_room(self) -> bool:
        """True when the socket would take something now (an error counts: sending then tells it)."""
        return self._closed or bool(self._poll.poll(0))

    def room(self) -> Coroutine[Any, Any, None]:
        """Waits until there is room. Raises ConnectionResetError when the wire is closed meanwhile.

        The loop goes on watching for room afterwards, since a stalled peer's next wait is near: who stops sending, or
        does something else in between, says so with `rest`.
        """
        return self.drive(None)

    async def drive(self, push: Callable[[], bool] | None, *, buffer_share: float = 1) -> None:
        """Calls `push` whenever there is room, once a turn of the loop, until it returns True. As `room` otherwise.

        A socket that is full gets a send buffer of `buffer_share` of what it may have, if that is more than it has.
        Raises what `push` raises.
        """
        if self._closed:
            raise ConnectionResetError("closed")
        buffer_bytes = int(self._most_buffer_bytes * buffer_share)
        if buffer_bytes > self._buffer_bytes and not self.has_room():
            self._grow(buffer_bytes)
        self._push = push
        self._room = room = self._loop.create_future()
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._fd, self._has_room)
        await room

    def _grow(self, send_buffer_bytes: int) -> None:
        """A peer that takes much at once, and with two chunks in the buffer it need not wait for one to be made."""
        self._buffer_bytes = send_buffer_bytes
        with suppress(OSError):  # then it stays as it is
            if send_buffer_bytes <= self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2:  # Linux doubles it
                return
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)

    def rest(self) -> None:
        """Stops watching for room."""
        if self._writing and not self._closed:
            self._loop.remove_writer(self._fd)
        self._writing = False
        self._push = None

    def _has_room(self) -> None:
        room = self._room
        if room is None or room.done():
            self.rest()
            return
        try:
            if self._push is None or self._push():
                room.set_result(None)
        except Exception as fault:  # the sender's to hear
            room.set_exception(fault)

    def lend(self) -> None:
        """From now until `take_back` another thread may call `try_send`: closing then leaves the descriptor open.

        Else it might be another connection's by the time that the thread sends.
        """
        self._lent = True

    def take_back(self) -> None:
        """The other thread is done."""
        self._lent = False
        if self._closed:
            self._sock.close()

    def close(self) -> None:
        """Closes the socket; whoever waits for room gets ConnectionResetError."""
        if self._closed:
            return
        self.unwatch()
        self.rest()
        self._closed = True
        self.appetite.close()
        if self._room is not None and not self._room.done():
            self._room.set_exception(ConnectionResetError("closed"))
        if not self._lent:
            self._sock.close()
            return
        with suppress(OSError):  # the peer may have gone before
            self._sock.shutdown(socket.SHUT_RDWR)
