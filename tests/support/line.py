"""A socket and the peer that reads it, as storage sends through it."""

import contextlib
import socket
from itertools import count

_numbers = count(1)


class Line:
    """Both ends of a socket; what was sent into it is read where there is no room left, and at the end."""

    def __init__(self, room_bytes: int) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room_bytes)
        self.near.setblocking(False)
        self.far.setblocking(False)
        self.number = next(_numbers)
        self.received = bytearray()
        self.taken_bytes = 0

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self.near.close()
        self.far.close()

    def fileno(self) -> int:
        return self.near.fileno()

    def try_send(self, data: memoryview) -> int:
        try:
            sent = self.near.send(data)
        except BlockingIOError:
            return 0
        self.took(sent)
        return sent

    def took(self, size_bytes: int) -> None:
        self.taken_bytes += size_bytes

    def send_all(self, data: memoryview) -> None:
        while len(data):
            data = data[self.try_send(data) :]
            self.drain()

    def drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := self.far.recv(1 << 20):
                self.received += data
