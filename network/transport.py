"""Non-blocking socket reads and writes, and waiting for readability or writability without holding a buffer.

A raw socket and not an asyncio transport: those copy what a slow reader has not taken, have no sendfile under uvloop,
and do not let `add_writer` use their socket.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from struct import Struct

MSG_MORE = getattr(socket, "MSG_MORE", 0)
LINGER_NOT = Struct("ii").pack(1, 0)


class PlainTransport:
    """An accepted TCP socket. `sent_bytes`: how many bytes it took so far. `sends_files`: bytes of files do not pass
    through this process. `sends_in_threads`: a thread may call `try_send` while the wire is lent to it.
    """

    sends_files = sends_in_threads = True

    unsent_bytes = 0
    """Bytes that `try_send` has taken but the socket has not."""

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
        """Calls `on_readable` whenever there are bytes, or the end of the stream, to be read."""
        if not self._reading and not self._closed:
            self._reading = True
            self._loop.add_reader(self._fd, on_readable)

    def unwatch(self) -> None:
        """Stops the calls: bytes stay in the kernel, which slows the peer down."""
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def try_receive(self, most_bytes: int) -> bytes | None:
        """Returns what has arrived, b"" at the end of the stream, None if nothing is there yet."""
        try:
            return self._sock.recv(most_bytes)
        except (BlockingIOError, InterruptedError):
            return None

    def try_send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> int:
        """Returns how many bytes were taken; 0: there is no room. `more`: the rest of the response follows at once."""
        try:
            sent = self._sock.send(data, MSG_MORE if more else 0)
        except (BlockingIOError, InterruptedError):
            return 0
        self.sent_bytes += sent
        return sent

    def try_send_file(self, file_fd: int, position: int, size_bytes: int) -> int:
        """Sends a range of a file by `sendfile`; returns how many bytes were taken, 0 if there is no room.

        Raises: EOFError past the file's end.
        """
        try:
            sent = os.sendfile(self._sock.fileno(), file_fd, position, size_bytes)
        except (BlockingIOError, InterruptedError):
            return 0
        if sent == 0 and size_bytes:
            raise EOFError("the file ends before the slice does")
        self.sent_bytes += sent
        return sent

    def wait_for_room(self) -> asyncio.Future[None]:
        """Returns a future that is done once there is room. Raises: ConnectionResetError, as the future does when the
        wire is closed meanwhile.

        The loop keeps watching for room afterwards, since a stalled peer soon waits again: a caller that stops
        sending has to call `stop_watching_room`.
        """
        if self._closed:
            raise ConnectionResetError("closed")
        self._room = room = self._loop.create_future()
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._fd, self._on_room)
        return room

    async def wait_for_bytes(self) -> None:
        """Waits until there is something to be read; not while `watch` is on. Raises: ConnectionResetError when the
        wire is closed meanwhile.
        """
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
        """Ends all waits for the wire with this exception."""
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

    def lend_to_thread(self) -> None:
        """Lets a thread send until `take_back_from_thread`. Until then `close` does not free the descriptor, whose
        number another socket would get.
        """
        self._is_lent = True

    def take_back_from_thread(self) -> None:
        self._is_lent = False
        if self._closed:
            self._sock.close()

    def reset_on_close(self) -> None:
        """Makes `close` send a reset instead of the end of the stream."""
        if not self._closed:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)

    def close(self) -> None:
        """Closes the socket; waits for bytes or room end with ConnectionResetError."""
        if self._closed:
            return
        self.unwatch()
        self.stop_watching_room()
        self._closed = True
        self._fail_waits(ConnectionResetError("closed"))
        if not self._is_lent:
            self._sock.close()
