"""Reads a PROXY header off an accepted socket, and not a byte more: TLS, or a request, follows."""

import socket

from ..network.transport import PlainTransport
from .proxy_header import (
    FIRST_BYTES,
    MOST_V1_BYTES,
    SIGNATURE,
    V1_START,
    V2_HEAD_BYTES,
    ProxyAddress,
    parse_v1,
    parse_v2,
    size_of_v2_rest,
)


class ProxyHeaderReader:
    """`wire` is over the socket; nothing has been read from either."""

    def __init__(self, sock: socket.socket, wire: PlainTransport) -> None:
        self._sock = sock
        self._wire = wire

    async def starts_with_header(self) -> bool:
        """Raises: ConnectionResetError when the peer leaves, or the wire is closed, before the first byte."""
        return (await self._take(1, socket.MSG_PEEK))[0] in FIRST_BYTES

    async def read(self) -> ProxyAddress | None:
        """Reads the header; returns the source, None: the balancer. Raises: MalformedFrame, ConnectionResetError."""
        start = await self._read_exactly(len(V1_START))
        if start == V1_START:
            return parse_v1(await self._read_line(start))
        if not SIGNATURE.startswith(start):
            return parse_v1(start)
        head = start + await self._read_exactly(V2_HEAD_BYTES - len(start))
        return parse_v2(head, await self._read_exactly(size_of_v2_rest(head)))

    async def _read_line(self, start: bytes) -> bytes:
        line = start
        while not line.endswith(b"\n") and len(line) < MOST_V1_BYTES:
            seen = await self._take(MOST_V1_BYTES - len(line), socket.MSG_PEEK)
            line += await self._take(seen.find(b"\n") + 1 or len(seen))
        return line

    async def _read_exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += await self._take(size - len(data))
        return data

    async def _take(self, most_bytes: int, flags: int = 0) -> bytes:
        """Receives at least one byte, `most_bytes` at most."""
        while True:
            try:
                data = self._sock.recv(most_bytes, flags)
            except (BlockingIOError, InterruptedError):
                await self._wire.wait_for_bytes()
                continue
            if not data:
                raise ConnectionResetError("the peer left within its PROXY header")
            return data
