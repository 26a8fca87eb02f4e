"""A TCP proxy before a broker that writes down which API and version each client sends.

The broker has to advertise the proxy's address, so start the proxy first: `RecordingProxy()` listens at once,
`forward_to(address)` tells where to. It runs on a thread of its own, so blocking clients may use it.
"""

import asyncio
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from .deadline import DEADLINE_S

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The header of a request that passed."""

    api_key: int
    api_version: int
    client_id: str | None


class _Headers:
    """Finds the request headers in the bytes of one connection."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._skip = 0

    def feed(self, data: bytes) -> Iterator[Request]:
        view = memoryview(data)
        while view:
            if self._skip:
                passed = min(self._skip, len(view))
                self._skip -= passed
                view = view[passed:]
                continue
            self._head.append(view[0])
            view = view[1:]
            if (request := self._complete()) is not None:
                yield request

    def _complete(self) -> Request | None:
        """Return the header once its last byte is in: size, key, version, correlation id, client id."""
        head = self._head
        if len(head) < 14:
            return None
        size, key, version, _, name_size = struct.unpack_from(">ihhih", head)
        name_size = max(name_size, -1)
        if len(head) < 14 + max(name_size, 0):
            return None
        name = bytes(head[14:]).decode() if name_size >= 0 else None
        self._skip = 4 + size - len(head)
        head.clear()
        return Request(api_key=key, api_version=version, client_id=name)


class RecordingProxy:
    """Listens on a free port of 127.0.0.1 until closed."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._target = ("127.0.0.1", 0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recording-proxy", daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(DEADLINE_S)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def forward_to(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._target = (host, int(port))

    def versions(self, client_id: str, api_key: int) -> set[int]:
        """Return the versions of an API that this client sent so far."""
        return {r.api_version for r in self.requests if r.client_id == client_id and r.api_key == api_key}

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(DEADLINE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            broker_reader, broker_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pump(reader, broker_writer, _Headers()), self._pump(broker_reader, writer, None))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: _Headers | None) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(_CHUNK):
                if headers is not None:
                    self.requests.extend(headers.feed(data))
                writer.write(data)
                await writer.drain()
        writer.close()
