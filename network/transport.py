"""Non-blocking socket reads and writes, and waiting for readability or writability without holding a buffer.

`PlainTransport` is a raw non-blocking socket under the loop. Not an asyncio transport: those copy what a slow reader
has not taken, have no sendfile under uvloop, and may not share their socket with `add_writer`.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from struct import Struct

MSG_MORE = getattr(socket, "MSG_MORE", 0)
LINGER_NOT = Struct("ii").pack(1, 0)


class PlainTransport:
    """An accepted TCP socket. `sent_bytes` is what it took so far; `on_readable` is called whenever there are bytes, or
    the end, to be read. `sends_files`: bytes of files do not pass through this process. `sends_in_threads`: `try_send`
    may be called in a thread, while the wire is lent to it.
    """

    sends_files = sends_in_threads = True

    unsent_bytes = 0
    """What it has taken and the socket has not."""

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = loop
        self._fd = sock.fileno()
        self._room: asyncio.Future[None] | None = None
        self._bytes_wait: asyncio.Future[None] | None = None
        self._reading = False
        self._writing = False
        self._closed = self._is_lent = False
        self.sent_bytes = 0

    @property
    def is_closed(self) -> bool:
        return self._closed

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

    async def wait_for_room(self) -> None:
        """Waits until there is room. Raises ConnectionResetError when the wire is closed meanwhile.

        The loop goes on watching for room afterwards, since a stalled peer's next wait is near: a caller that
        stops sending, or does something else in between, calls `stop_watching_room`.
        """
        if self._closed:
            raise ConnectionResetError("closed")
        self._room = room = self._loop.create_future()
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._fd, self._on_room)
        await room

    async def wait_for_bytes(self) -> None:
        """Waits until there is something to be read, while nobody watches. Raises ConnectionResetError when the wire is
        closed meanwhile."""
        if self._closed:
            raise ConnectionResetError("closed")
        self._bytes_wait = wait = self._loop.create_future()
        self.watch(self._on_bytes)
        try:
            await wait
        finally:
            self.unwatch()
            self._bytes_wait = None

    def _on_bytes(self) -> None:
        if self._bytes_wait is not None and not self._bytes_wait.done():
            self._bytes_wait.set_result(None)

    def _fail_waits(self, fault: Exception) -> None:
        """What waits for the wire ends so."""
        for wait in (self._bytes_wait, self._room):
            if wait is not None and not wait.done():
                wait.set_exception(fault)

    def stop_watching_room(self) -> None:
        """Stops watching for room."""
        if self._writing and not self._closed:
            self._loop.remove_writer(self._fd)
        self._writing = False

    def _on_room(self) -> None:
        room = self._room
        if room is None or room.done():
            self.stop_watching_room()
        else:
            room.set_result(None)

    def lend(self) -> None:
        """A thread sends until `take_back`: closed meanwhile, the socket keeps its number, which another would get."""
        self._is_lent = True

    def take_back(self) -> None:
        self._is_lent = False
        if self._closed:
            self._sock.close()

    def reset(self) -> None:
        """Has `close` send a reset instead of the end of the stream."""
        if not self._closed:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)

    def close(self) -> None:
        """Closes the socket; who waits for bytes, or for space in its buffer, gets ConnectionResetError."""
        if self._closed:
            return
        self.unwatch()
        self.stop_watching_room()
        self._closed = True
        self._fail_waits(ConnectionResetError("closed"))
        if not self._is_lent:
            self._sock.close()
