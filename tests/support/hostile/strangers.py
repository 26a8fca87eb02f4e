"""Connections that never log in, and cost as much as they can: `python -m support.hostile.strangers KIND ADDRESS COUNT
[AUTHORITY]`, run in tests/.

Each sends all that it may, and opens another when it is closed. It says "begun" once all have been opened (and those of
tls_silent have ended their handshakes), goes on until it is killed. None reads an answer but those of the handshake.
"""

import asyncio
import socket
import ssl
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

from stepdown.bench.servers.admin_connection import frame_of
from stepdown.client.connection import parse_address
from stepdown.protocol.api import spec_of_request
from stepdown.protocol.frame import encode_request
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest

USER = "alice"
MOST_BYTES = 524_288
"""`sasl.server.max.receive.size`."""
LONG = 500_000
HELLO_BYTES = 131_000
"""OpenSSL takes ClientHellos of 131,396 bytes."""


def handshake(mechanism: str, version: int = 1) -> bytes:
    return frame_of(SaslHandshakeRequest(mechanism=mechanism), version)


def token(data: bytes) -> bytes:
    return frame_of(SaslAuthenticateRequest(auth_bytes=data), 2)


def endless_frame() -> bytes:
    return struct.pack(">i", MOST_BYTES) + bytes(MOST_BYTES - 1)


def endless_token() -> bytes:
    return handshake("PLAIN") + token(bytes(LONG))[:-1]


def endless_bare_token() -> bytes:
    return handshake("PLAIN", 0) + endless_frame()


def wrong_token() -> bytes:
    return handshake("PLAIN") + token(b"\0".join((b"", b"a" * LONG, b"b")))


def long_nonce() -> bytes:
    """Of a user who is there: the server has to remember it until the last message."""
    return handshake("SCRAM-SHA-256") + token(f"n,,n={USER},r=".encode() + b"x" * LONG)


def long_name_of_software() -> bytes:
    name = "x" * 32_000
    return frame_of(ApiVersionsRequest(client_software_name=name, client_software_version=name), 3)


def long_client_id() -> bytes:
    """Python keeps it in four bytes a character."""
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    text = "\N{GRINNING FACE}" + "x" * 32_000
    return b"".join(encode_request(spec_of_request(request), 3, 1, text, request))  # type: ignore[arg-type]


def pipelined_versions() -> bytes:
    return frame_of(ApiVersionsRequest(), 0) * 20_000


def endless_hello() -> bytes:
    """Records of TLS with all of a ClientHello but its end."""
    body = b"\1" + struct.pack(">I", HELLO_BYTES)[1:] + b"\3\3" + bytes(HELLO_BYTES - 3)
    parts = [body[at : at + 16_384] for at in range(0, len(body), 16_384)]
    return b"".join(b"\x16\3\1" + struct.pack(">H", len(part)) + part for part in parts)


PLAIN = {
    "silent": lambda: b"",
    **{
        each.__name__: each
        for each in (
            endless_frame,
            endless_token,
            endless_bare_token,
            wrong_token,
            long_nonce,
            long_name_of_software,
            long_client_id,
            pipelined_versions,
        )
    },
}
TLS = ("endless_hello", "half_hello", "hello", "endless_certificates", *(f"tls_{name}" for name in PLAIN))
"""For a listener with TLS, which asks for a certificate; `tls_…` when the handshake is done."""
QUIET = "tls_silent"


class Tls:
    """The client's side of a handshake."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: str = "") -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if own:
            context.load_cert_chain(own)
        self._reader, self._writer = reader, writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing)

    async def shake_hands(self, withheld_bytes: int = 0) -> None:
        """`withheld_bytes`: of what follows the ClientHello."""
        is_first = True
        while True:
            try:
                self._tls.do_handshake()
                is_done = True
            except ssl.SSLWantReadError:
                is_done = False
            data = self._outgoing.read()
            await send(self._writer, data if is_first else data[: len(data) - withheld_bytes])
            is_first = False
            if is_done:
                return
            received = await self._reader.read(1 << 16)
            if not received:
                raise ConnectionResetError
            self._incoming.write(received)

    def sealed(self, data: bytes) -> bytes:
        self._tls.write(data)
        return self._outgoing.read()


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


async def stranger(kind: str, address: str, own: str, begun: Callable[[], None]) -> None:
    host, port = parse_address(address)
    while True:
        with suppress(OSError, ssl.SSLError):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, (host, port))
            reader, writer = await asyncio.open_connection(sock=sock, limit=4_096)
            is_quiet = kind == QUIET
            if not is_quiet:
                begun()
            try:
                await attack(kind, reader, writer, own)
                if is_quiet:
                    begun()
                while await reader.read(100):  # noqa: ASYNC110
                    await asyncio.sleep(0.5)
            finally:
                writer.transport.abort()


async def attack(kind: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: str) -> None:
    if kind == "hello":
        await Tls(reader, writer).shake_hands(withheld_bytes=1 << 20)
    elif kind == "half_hello":
        await send(writer, endless_hello()[:200])
    elif kind == "endless_hello":
        await send(writer, endless_hello())
    elif kind == "endless_certificates":
        await Tls(reader, writer, own).shake_hands(withheld_bytes=400)
    elif kind.startswith("tls_"):
        tls = Tls(reader, writer)
        await tls.shake_hands()
        await send(writer, tls.sealed(PLAIN[kind.removeprefix("tls_")]()))
    else:
        await send(writer, PLAIN[kind]())


async def main(kind: str, address: str, count: int, own: str = "") -> None:
    left = count

    def begun() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            print("begun", flush=True)

    await asyncio.gather(*(stranger(kind, address, own, begun) for _ in range(count)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
