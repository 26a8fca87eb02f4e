"""A front before a stepdown broker that takes from it what Kafka 4 has removed.

A request in a removed version ends in a closed connection without a byte, as Kafka 4.4.0 does it (measured), and
ApiVersions says what is left: Produce from 0, which is not true, as there (KIP-896). The broker has to advertise the
front's address: `Front.listen` comes first, `forward_to` then. `requests` are those that passed: (key, version).
"""

import asyncio
import struct
from contextlib import suppress
from types import TracebackType
from typing import Self

LOWEST = {0: 3, 1: 4, 2: 1, 8: 2, 9: 1, 11: 2, 19: 2, 20: 1, 23: 2, 29: 1, 30: 1, 31: 1, 32: 1, 34: 1, 35: 1}
"""Of 4.0.0, which alone lacks JoinGroup 0 and 1."""
PRODUCE, API_VERSIONS = 0, 18


class Kafka4Front:
    """Listens on a free port of 127.0.0.1."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, int]] = []
        self.port = 0
        self._target = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.hang_up()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def forward_to(self, port: int) -> None:
        self._target = port

    def hang_up(self) -> None:
        """Closes all connections, as a broker that is killed."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                upstream, to_upstream = await asyncio.open_connection("127.0.0.1", self._target)
                self._writers.add(to_upstream)
                await self._relay(reader, writer, upstream, to_upstream)
        finally:
            for each in list(self._writers):
                if each is writer or each.is_closing():
                    self._writers.discard(each)
            writer.close()
            with suppress(UnboundLocalError):
                to_upstream.close()
            self._tasks.discard(task)

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: asyncio.StreamReader,
        to_upstream: asyncio.StreamWriter,
    ) -> None:
        """One request after the other; what has no answer is acks=0, which tests of this front do not send."""
        while True:
            frame = await _read_frame(reader)
            key, version = struct.unpack_from(">hh", frame)
            if version < LOWEST.get(key, 0):
                return
            self.requests.append((key, version))
            to_upstream.write(struct.pack(">i", len(frame)) + frame)
            answer = await _read_frame(upstream)
            if key == API_VERSIONS:
                answer = _raise_lowest(answer, version)
            writer.write(struct.pack(">i", len(answer)) + answer)
            await writer.drain()


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    size: int = struct.unpack(">i", await reader.readexactly(4))[0]
    return await reader.readexactly(size)


def _raise_lowest(answer: bytes, version: int) -> bytes:
    """The lowest versions in an ApiVersions answer; entries of v3+ end with an empty section of tags."""
    changed = bytearray(answer)
    count, at, size = (struct.unpack_from(">i", answer, 6)[0], 10, 6) if version < 3 else (answer[6] - 1, 7, 7)
    for _ in range(count):
        key: int = struct.unpack_from(">h", answer, at)[0]
        if key in LOWEST and key != PRODUCE:
            struct.pack_into(">h", changed, at + 2, LOWEST[key])
        at += size
    return bytes(changed)
