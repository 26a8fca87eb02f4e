"""A raw client for tests of the broker: sends a request value in a version of your choice, returns the response value.

client = await RawClient.connect("127.0.0.1", port)
response = await client.send(MetadataRequest(topics=None), 9)
await client.send_raw(b"\\x00\\x00\\x00\\x04junk")
assert await client.read_frame() is None            # the broker hung up
"""

import asyncio
import socket
import struct
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from stepdown.protocol.api import spec_of_request
from stepdown.protocol.frame import FrameParser, decode_response, encode_request

from .deadline import DEADLINE_S

READ_BYTES = 64 * 1024
MAX_FRAME_BYTES = 256 * 1024 * 1024


class RawClient:
    """One connection. Responses come in the order of requests, so `begin` may pipeline what `finish` then collects."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str | None) -> None:
        self.client_id = client_id
        self._reader = reader
        self._writer = writer
        self._parser = FrameParser(MAX_FRAME_BYTES)
        self._correlation_id = 0

    @classmethod
    async def connect(
        cls, host: str, port: int, *, client_id: str | None = "raw", ssl: Any = None, own_host: str | None = None
    ) -> Self:
        """`own_host`: the address to come from."""
        own = None if own_host is None else (own_host, 0)
        reader, writer = await asyncio.open_connection(host, port, ssl=ssl, local_addr=own)
        return cls(reader, writer, client_id)

    async def send(self, request: Any, version: int) -> Any:
        """The response to `request`. Raises: ConnectionError when the broker hangs up instead."""
        correlation_id = await self.begin(request, version)
        return await self.finish(request, version, correlation_id)

    async def begin(self, request: Any, version: int) -> int:
        """Sends and does not wait (also for acks 0, which has no response); returns the correlation id."""
        self._correlation_id += 1
        await self.send_raw(self.frame(request, version))
        return self._correlation_id

    async def finish(self, request: Any, version: int, correlation_id: int) -> Any:
        """The next response, which has to be that of `request`."""
        frame = await self.read_frame()
        if frame is None:
            raise ConnectionError(f"the broker closed the connection instead of answering {request}")
        answered, response = decode_response(spec_of_request(request), version, memoryview(frame))
        assert answered == correlation_id, f"expected the response to request {correlation_id}, got that to {answered}"
        return response

    def frame(self, request: Any, version: int) -> bytes:
        """The bytes that `begin` sends, with the correlation id of the last request sent."""
        spec = spec_of_request(request)
        return b"".join(encode_request(spec, version, self._correlation_id, self.client_id, request))  # type: ignore[arg-type]

    async def send_raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        """Breaks the connection off, as a client does that is killed."""
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def end(self) -> None:
        """Sends no more; answers still come."""
        self._writer.write_eof()

    async def read_frame(self) -> bytes | None:
        """The next frame without its size; None when the broker has closed the connection."""
        async with asyncio.timeout(DEADLINE_S):
            while (frame := self._parser.next_frame()) is None:
                try:
                    data = await self._reader.read(READ_BYTES)
                except ConnectionError:
                    data = b""
                if not data:
                    return None
                self._parser.feed(data)
        return bytes(frame)

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
