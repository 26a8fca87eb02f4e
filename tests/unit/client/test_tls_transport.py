"""TLS of the asyncio clients: what passes in both directions, and what a handshake or a connection ends with."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stepdown.client.security.settings import TlsSettings
from stepdown.client.security.tls_context import make_tls_context
from stepdown.client.tcp_connect import TcpConnect
from support.certificates import Authority
from support.deadline import DEADLINE_S
from support.running import until
from support.secure import secure_broker, secure_settings
from support.watching_protocol import LOOPS, WatchingProtocol, run_on

Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]
DATA = os.urandom(1 << 20) * 16
"""More than the kernel keeps of a connection."""


class Buffered(WatchingProtocol, asyncio.BufferedProtocol):
    """With a buffer that a record does not fit in."""

    def __init__(self) -> None:
        super().__init__()
        self._buffer = bytearray(1000)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]


@asynccontextmanager
async def serving(serve: Serving, tls: ssl.SSLContext | None) -> AsyncIterator[int]:
    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with asyncio.timeout(DEADLINE_S), await asyncio.start_server(serve_one, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]


def server_context(authority: Authority, host: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker", host))
    return context


async def connect(protocol: asyncio.BaseProtocol, authority: Authority, port: int) -> None:
    tls = make_tls_context(TlsSettings(trusted_file=str(authority.file)))
    await TcpConnect()(lambda: protocol, "127.0.0.1", port, tls=tls)


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...


@pytest.mark.parametrize("kind", [WatchingProtocol, Buffered])
@pytest.mark.parametrize("loop", LOOPS)
def test_data_passes_whole_in_both_directions_and_waits_for_who_stalls(
    tmp_path: Path, loop: str, kind: type[WatchingProtocol]
) -> None:
    async def main() -> None:
        authority, watching, paused = Authority(tmp_path), kind(), asyncio.Event()

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await paused.wait()
            data = await reader.readexactly(len(DATA))
            writer.write(data[: len(data) // 2])
            await writer.drain()
            writer.write(data[len(data) // 2 :])

        async with serving(echo, server_context(authority)) as port:
            await connect(watching, authority, port)
            for at in range(0, len(DATA), 100_000):
                watching.transport.writelines([DATA[at : at + 10], DATA[at + 10 : at + 100_000]])
            assert watching.is_paused
            watching.transport.pause_reading()
            paused.set()
            await until(lambda: not watching.is_paused)
            assert not watching.received
            watching.transport.resume_reading()
            assert await watching.lost is None
        assert bytes(watching.received) == DATA

    run_on(loop, main())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_certificate_of_another_host_or_authority_is_refused_with_the_reason(tmp_path: Path, loop: str) -> None:
    async def main() -> None:
        authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
        async with serving(hang_up, server_context(authority, "other.test")) as port:
            with pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for '127.0.0.1'"):
                await connect(WatchingProtocol(), authority, port)
            with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
                await connect(WatchingProtocol(), stranger, port)

    run_on(loop, main())


@pytest.mark.parametrize("loop", LOOPS)
def test_what_speaks_no_tls_is_told_from_what_hangs_up(tmp_path: Path, loop: str) -> None:
    async def answer_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async def main() -> None:
        authority = Authority(tmp_path)
        async with serving(answer_http, None) as port:
            with pytest.raises(ssl.SSLError, match="no TLS record begins with 48 54 54 50 2f"):
                await connect(WatchingProtocol(), authority, port)
        async with serving(hang_up, None) as port:
            with pytest.raises(ConnectionError):
                await connect(WatchingProtocol(), authority, port)

    run_on(loop, main())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_handshake_that_is_given_up_hangs_up(tmp_path: Path, loop: str) -> None:
    async def main() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            begun.set()
            try:
                await reader.read()
            finally:
                ended.set()

        async with serving(be_silent, None) as port:
            attempt = asyncio.ensure_future(connect(WatchingProtocol(), Authority(tmp_path), port))
            await begun.wait()
            attempt.cancel()
            await ended.wait()
            with pytest.raises(asyncio.CancelledError):
                await attempt

    run_on(loop, main())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_client_without_the_certificate_that_is_wanted_learns_why(tmp_path: Path, loop: str) -> None:
    """In TLS 1.3 a client's handshake is done before the broker has looked at its certificate."""

    async def main() -> None:
        authority, watching = Authority(tmp_path), WatchingProtocol()
        async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
            await connect(watching, authority, broker.addresses["MTLS"].port)
            fault = await watching.lost
        assert isinstance(fault, ssl.SSLError)
        assert "CERTIFICATE_REQUIRED" in str(fault.reason)

    run_on(loop, main())
