"""floor.c in Python, on uvloop: the least that a server has to do whose loop is the interpreter's.

    python floor.py fetch PORT PLAN 1 sendfile|relay|[mapped-|run-|told-]v1|v0 READ SEND MESSAGE
    python floor.py produce PORT PLAN 1 PARTITION_AT RECORDS_AT

Arguments and plan are those of floor.c; one thread. A chunk is summed whole, by one call of our compiled kernel,
however many messages are in it. `v1` and `v0` are no floor but what we do, bare: chunks read by pread, or out of the
mapped file, are converted as a fetch of that magic has them; with `run-` one call of storage/relay.py does it for each
slice, with `told-` after the call that reads and measures the first batch, which tells how large the slice will be.
Nothing is decoded, looked up, counted or logged.
"""

import asyncio
import mmap
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import cast

import uvloop
from stepdown.protocol.records.convert import convert_down
from stepdown.protocol.records.kernel import crc32, crc32c
from stepdown.storage.first_batch import plain_first
from stepdown.storage.relay import Relay

BUFFER_BYTES = 512 * 1024
REQUEST_BYTES = 4096
SOCKET_BUFFER_BYTES = 256 * 1024
_INT = Struct(">i")
_CORRELATION_IN_ANSWER = slice(4, 8)
_CORRELATION_IN_REQUEST = slice(8, 12)


class Plan:
    """The pieces of an answer: bytes, or (file descriptor, size) of a slice; `mapped` has the slices by descriptor."""

    def __init__(self, path: str, *, appends: bool) -> None:
        self.pieces: list[bytes | tuple[int, int]] = []
        self.mapped: dict[int, memoryview] = {}
        for line in Path(path).read_text().splitlines():
            kind, size, file = line.split()
            if kind == "bytes":
                self.pieces.append(Path(file).read_bytes())
            else:
                flags = os.O_WRONLY | os.O_APPEND if appends else os.O_RDONLY
                fd = os.open(file, flags)
                self.pieces.append((fd, int(size)))
                if not appends:
                    pages = mmap.mmap(fd, 0, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ)
                    self.mapped[fd] = memoryview(pages)

    @property
    def head(self) -> bytes:
        """The first piece."""
        head = self.pieces[0]
        assert isinstance(head, bytes)
        return head


class Fetches:
    """One connection that asks for the plan's answer again and again."""

    def __init__(
        self, sock: socket.socket, plan: Plan, way: str, read_bytes: int, send_bytes: int, message_bytes: int
    ) -> None:
        self.sock, self.plan = sock, plan
        self.by_sendfile, self.by_map, self.is_told = (
            way == "sendfile",
            way.startswith("mapped"),
            way.startswith("told"),
        )
        self.by_run = self.is_told or way.startswith("run")
        self.target = None if way in ("sendfile", "relay") else int(way[-1])
        self.read_bytes, self.send_bytes, self.sums = read_bytes, send_bytes, bool(message_bytes)
        self.loop = asyncio.get_running_loop()
        self.request = memoryview(bytearray(REQUEST_BYTES))
        self.chunk, self.converted = page_aligned(), page_aligned()
        self.stored_at = 0
        self.ends = {fd: len(mapped) for fd, mapped in plan.mapped.items()}
        self.unsent = self.chunk[:0]
        self.piece = self.at = 0
        self.waits = False
        self.head = bytearray(plan.head)
        self.loop.add_reader(sock, self.readable)

    def readable(self) -> None:
        """The request is small and the only one, so it comes whole."""
        received = self.sock.recv_into(self.request)
        if not received:
            hang_up(self.loop, self.sock)
            return
        if _INT.unpack_from(self.request)[0] + _INT.size != received:
            raise ValueError("a request that is not one piece")
        self.head[_CORRELATION_IN_ANSWER] = self.request[_CORRELATION_IN_REQUEST]
        self.piece = self.at = 0
        self.send()

    def send(self) -> None:
        """All that the socket takes."""
        pieces, last = self.plan.pieces, len(self.plan.pieces) - 1
        try:
            while self.piece <= last:
                piece = pieces[self.piece]
                if isinstance(piece, bytes):
                    data = piece if self.piece else self.head
                    self.sock.send(data, socket.MSG_MORE if self.piece < last else 0)
                else:
                    self.send_slice(*piece)
                self.piece, self.at = self.piece + 1, 0
        except BlockingIOError:
            if not self.waits:
                self.loop.add_writer(self.sock, self.send)
                self.waits = True
            return
        except OSError:
            hang_up(self.loop, self.sock)
            return
        if self.waits:
            self.loop.remove_writer(self.sock)
            self.waits = False

    def send_slice(self, fd: int, size: int) -> None:
        """Raises: BlockingIOError when the socket is full."""
        if self.by_sendfile:
            target = self.sock.fileno()
            while self.at < size:
                self.at += os.sendfile(target, fd, self.at, size - self.at)
            return
        while self.at < size:
            if not self.unsent and self.by_run:
                self.run(fd, size)
            elif not self.unsent:
                self.unsent = self.make(fd, min(self.send_bytes, size - self.at))
            if self.unsent:
                sent = self.sock.send(self.unsent)
                self.unsent = self.unsent[sent:]
                self.at += sent

    def run(self, fd: int, size: int) -> None:
        """Sends chunk after chunk, until there is one that is not taken whole."""
        assert self.target is not None
        if self.at == 0:
            self.stored_at = 0
            if self.is_told:
                plain_first(fd, 0, self.ends[fd], self.target, 0, self.chunk)
        relay, left = Relay(self.target, 0, self.read_bytes), size - self.at
        relay.go(fd, self.stored_at, self.ends[fd], self.sock.fileno(), self.chunk, self.converted, left, left, False)
        self.at += relay.sent_bytes + relay.unsent_taken_bytes
        self.unsent = self.converted[relay.unsent_taken_bytes : relay.unsent_bytes]
        self.stored_at = relay.unsent()[0] if relay.unsent_bytes else relay.end
        if self.at < size and not self.unsent and not relay.sent_bytes:
            raise ValueError("a slice that ends before its promise does")

    def make(self, fd: int, size: int) -> memoryview:
        """The next chunk, `size` bytes or what is made of as many stored."""
        if self.target is not None:
            return self.convert(fd, self.target)[:size]
        stored = self.chunk[: size * self.read_bytes // self.send_bytes]
        os.preadv(fd, (stored,), self.at * self.read_bytes // self.send_bytes)
        if self.sums:
            crc32c(stored)
            crc32(self.chunk[:size])
        return self.chunk[:size]

    def convert(self, fd: int, target: int) -> memoryview:
        """The whole batches of the next chunk."""
        if self.at == 0:
            self.stored_at = 0
        if self.by_map:
            stored = self.plan.mapped[fd][self.stored_at : self.stored_at + self.read_bytes]
        else:
            stored = self.chunk[: self.read_bytes]
            os.preadv(fd, (stored,), self.stored_at)
        made = convert_down(stored, target=target, first_offset=0, out=cast(bytearray, self.converted))
        self.stored_at += made.source_bytes
        return memoryview(made.data)[: made.size_bytes]


class Produces:
    """One connection that sends a batch a request."""

    def __init__(self, sock: socket.socket, plan: Plan, partition_at: int, records_at: int) -> None:
        self.sock = sock
        self.logs = [piece[0] for piece in plan.pieces[1:] if isinstance(piece, tuple)]
        self.head, self.tail = plan.head[:4], plan.head[8:]
        self.partition_at, self.records_at = partition_at, records_at
        self.loop = asyncio.get_running_loop()
        self.buffer = page_aligned()
        self.begin = self.end = 0
        self.loop.add_reader(sock, self.readable)

    def readable(self) -> None:
        """Answers all requests that are there together."""
        buffer = self.buffer
        received = self.sock.recv_into(buffer[self.end :])
        if not received:
            hang_up(self.loop, self.sock)
            return
        begin, end, next_at = self.begin, self.end + received, BUFFER_BYTES
        answers: list[bytes | memoryview] = []
        while end - begin >= _INT.size:
            next_at = begin + _INT.size + _INT.unpack_from(buffer, begin)[0]
            if next_at > end:
                break
            records = buffer[begin + self.records_at : next_at]
            crc32c(records)
            os.write(self.logs[_INT.unpack_from(buffer, begin + self.partition_at)[0]], records)
            answers += (self.head, buffer[begin + 8 : begin + 12], self.tail)
            begin = next_at
        if answers:
            self.sock.send(b"".join(answers))
        if begin == end:
            begin = end = 0
        elif next_at > BUFFER_BYTES or end - begin < _INT.size:
            buffer[: end - begin] = bytes(buffer[begin:end])
            begin, end = 0, end - begin
        self.begin, self.end = begin, end


def page_aligned() -> memoryview:
    """A buffer; reading into one that begins between two cache lines takes up to half again as long."""
    return memoryview(mmap.mmap(-1, BUFFER_BYTES))


def hang_up(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
    loop.remove_reader(sock)
    loop.remove_writer(sock)
    sock.close()


async def serve(port: int, welcome: Callable[[socket.socket], object]) -> None:
    """Until it is killed."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", port), backlog=64) as listener:
        listener.setblocking(False)
        lanes = []
        while True:
            sock, _ = await loop.sock_accept(listener)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            lanes.append(welcome(sock))


def main(arguments: list[str]) -> None:
    kind, port, path, _, *rest = arguments
    plan = Plan(path, appends=kind == "produce")
    if kind == "fetch":
        way, (read_bytes, send_bytes, message_bytes) = rest[0], map(int, rest[1:])
        uvloop.run(
            serve(int(port), lambda sock: Fetches(sock, plan, way, read_bytes, send_bytes, message_bytes)),
        )
    else:
        partition_at, records_at = map(int, rest)
        uvloop.run(serve(int(port), lambda sock: Produces(sock, plan, partition_at, records_at)))


if __name__ == "__main__":
    main(sys.argv[1:])
