"""A broker that sends TLS records without data in any number holds no client up, and is hung up on."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from stepdown.client.admin import Admin, AsyncAdmin
from stepdown.client.errors import MalformedAnswer
from stepdown.client.security.settings import SecuritySettings, TlsSettings
from stepdown.client.security.tls_context import make_tls_context
from stepdown.client.tcp_connect import TcpConnect
from stepdown.client.tls_transport import MOST_UNSENT_BYTES
from stepdown.config import HostPort
from stepdown.gateway.upstream import Upstream, UpstreamFailed
from stepdown.network.clock import LoopClock
from stepdown.producer import Producer
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.tls_records import MOST_WITHOUT_DATA, TlsRecords
from support.certificates import Authority
from support.deadline import DEADLINE_S
from support.hostile.tls_floods import (
    DATA,
    FLOODS_12_OF_SERVERS,
    FLOODS_OF_SERVERS,
    RENEWAL_WITH_ANSWER,
    Forger,
    in_bytes,
    renewal,
    shake_hands,
)
from support.running import until
from support.watching_protocol import LOOPS, WatchingProtocol, run_on

FLOOD = 2_000
MOST_WARNINGS = 5
"""OpenSSL's own limit."""
OPENSSL_ENDS = ("warnings", "records without data")
MOST_IN_A_PASS = {"asyncio": 1, "uvloop": 32}
"""Records: libuv reads on as long as its reads are filled, 32 times."""
KINDS = [
    *(pytest.param("TLSv1.3", kind, id=f"1.3, {kind}") for kind in FLOODS_OF_SERVERS),
    *(pytest.param("TLSv1.2", kind, id=f"1.2, {kind}") for kind in FLOODS_12_OF_SERVERS),
]
ANSWER_BYTES = 5 + len(RENEWAL_WITH_ANSWER) + 1 + 16
"""A record of TLS 1.3 with a message that renews our key."""
Acting = Callable[[Forger, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


class Passes:
    """How many records OpenSSL is given: the most in a pass of the loop, those of handshakes, and of each connection
    those after it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.most = self.of_handshakes = self._now = 0
        self._later: Counter[TlsRecords] = Counter()
        for name in ("continue_handshake", "decrypt"):
            patch.setattr(TlsRecords, name, self._counting(name))

    def _counting(self, name: str) -> Callable[[TlsRecords, memoryview], object]:
        inner = getattr(TlsRecords, name)

        def count(records: TlsRecords, data: memoryview) -> object:
            ends = 0 < records._left <= len(data)
            self._now += ends
            self.most = max(self.most, self._now)
            if name == "decrypt":
                self._later[records] += ends
            else:
                self.of_handshakes += ends
            return inner(records, data)

        return count

    @property
    def connections(self) -> int:
        return len(self._later)

    @property
    def later(self) -> int:
        """The most of a connection."""
        return max(self._later.values(), default=0)

    def begin(self) -> None:
        """Counts the passes of the running loop, to its end."""
        self._now = 0
        asyncio.get_running_loop().call_soon(self.begin)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    return Passes(monkeypatch)


@asynccontextmanager
async def hostile_broker(
    authority: Authority, folder: Path, act: Acting, version: str = "TLSv1.3", change: Callable[[bytes], bytes] = bytes
) -> AsyncIterator[int]:
    """The port of a broker that does `act` after the handshake, whose messages are changed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker"))
    if version == "TLSv1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("ECDHE+AESGCM+AES256")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await act(await shake_hands(context, reader, writer, folder, server=True, change=change), reader, writer)
        writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, limit=1024) as server:
        yield server.sockets[0].getsockname()[1]


async def connect(protocol: asyncio.Protocol, authority: Authority, port: int) -> None:
    tls = make_tls_context(TlsSettings(trusted_file=str(authority.file)))
    await TcpConnect()(lambda: protocol, "127.0.0.1", port, tls=tls)


def flooding(make: Callable[[Forger], bytes]) -> Acting:
    async def flood(forger: Forger, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(make(forger) for _ in range(FLOOD)))
        await reader.read()

    return flood


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_a_flood_of_records_without_data_ends_the_connection(
    passes: Passes, tmp_path: Path, version: str, kind: str, loop: str
) -> None:
    """100,000 renewals of a key, of a broker or one in the middle of a redirect, held the client's loop for seconds."""
    make = (FLOODS_OF_SERVERS if version == "TLSv1.3" else FLOODS_12_OF_SERVERS)[kind]

    async def main() -> None:
        authority, watching = Authority(tmp_path), WatchingProtocol()
        async with hostile_broker(authority, tmp_path, flooding(make), version) as port, asyncio.timeout(DEADLINE_S):
            passes.begin()
            await connect(watching, authority, port)
            fault = await watching.lost
        assert isinstance(fault, ssl.SSLError if kind in OPENSSL_ENDS else MalformedFrame)

    run_on(loop, main())
    assert passes.later == (MOST_WARNINGS if kind == "warnings" else MOST_WITHOUT_DATA + 1)
    assert passes.most <= MOST_IN_A_PASS[loop]


@pytest.mark.parametrize("loop", LOOPS)
def test_records_of_a_byte_leave_the_loop_to_others(passes: Passes, tmp_path: Path, loop: str) -> None:
    async def drip(forger: Forger, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(forger.record(DATA, b"x") for _ in range(FLOOD)))

    async def main() -> None:
        authority, watching = Authority(tmp_path), WatchingProtocol()
        async with hostile_broker(authority, tmp_path, drip) as port, asyncio.timeout(DEADLINE_S):
            passes.begin()
            await connect(watching, authority, port)
            await watching.lost
        assert len(watching.received) == FLOOD

    run_on(loop, main())
    assert passes.most <= MOST_IN_A_PASS[loop]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_handshake_in_records_of_a_byte_leaves_the_loop_to_others(passes: Passes, tmp_path: Path, loop: str) -> None:
    async def hang_up(forger: Forger, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...

    async def main() -> None:
        authority, watching = Authority(tmp_path), WatchingProtocol()
        async with (
            hostile_broker(authority, tmp_path, hang_up, "TLSv1.2", change=in_bytes) as port,
            asyncio.timeout(DEADLINE_S),
        ):
            passes.begin()
            await connect(watching, authority, port)
            await watching.lost

    run_on(loop, main())
    assert passes.of_handshakes > 500
    assert passes.most <= MOST_IN_A_PASS[loop]


@pytest.mark.parametrize("loop", LOOPS)
def test_answers_that_a_broker_does_not_read_are_bounded(passes: Passes, tmp_path: Path, loop: str) -> None:
    """Each renewal may ask for one of ours, which was kept until the broker took it."""

    class Writing(WatchingProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            while not self.is_paused:
                self.transport.write(bytes(1 << 20))

    async def renew(forger: Forger, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(renewal(forger, RENEWAL_WITH_ANSWER) + forger.record(DATA, bytes(4096)))
            await writer.drain()

    async def main() -> None:
        authority, writing = Authority(tmp_path), Writing()
        async with hostile_broker(authority, tmp_path, renew) as port, asyncio.timeout(DEADLINE_S):
            await connect(writing, authority, port)
            fault = await writing.lost
        assert "does not read the answers" in str(fault)

    run_on(loop, main())
    assert passes.later <= 2 * MOST_UNSENT_BYTES // ANSWER_BYTES + 10


async def ask_by_admin(address: HostPort, security: SecuritySettings) -> None:
    def ask() -> None:
        with Admin(str(address), security=security) as admin, pytest.raises(MalformedAnswer, match="without data"):
            admin.describe_topics()

    await asyncio.to_thread(ask)


async def ask_by_async_admin(address: HostPort, security: SecuritySettings) -> None:
    async with AsyncAdmin(str(address), security=security) as admin:
        with pytest.raises(MalformedAnswer, match="without data"):
            await admin.describe_topics()


async def ask_by_gateway(address: HostPort, security: SecuritySettings) -> None:
    upstream = Upstream([address], security, LoopClock(), lambda broker: None, gateway_id="", logs_clients_in=False)
    with pytest.raises(UpstreamFailed, match="without data"):
        await upstream.fetch_versions()
    upstream.close()


@pytest.mark.parametrize("ask", [ask_by_admin, ask_by_async_admin, ask_by_gateway])
async def test_each_client_hangs_up_on_a_flood(
    passes: Passes, tmp_path: Path, ask: Callable[[HostPort, SecuritySettings], Awaitable[None]]
) -> None:
    authority = Authority(tmp_path)
    security = SecuritySettings(tls=TlsSettings(trusted_file=str(authority.file)))
    async with hostile_broker(authority, tmp_path, flooding(renewal)) as port, asyncio.timeout(DEADLINE_S):
        await ask(HostPort("127.0.0.1", port), security)
    assert passes.later == MOST_WITHOUT_DATA + 1


async def test_a_producer_hangs_up_on_a_flood(passes: Passes, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    configs = {"security.protocol": "SSL", "ssl.truststore.location": str(authority.file)}
    async with (
        hostile_broker(authority, tmp_path, flooding(renewal)) as port,
        Producer(f"127.0.0.1:{port}", configs=configs) as producer,
    ):
        producer.send("t", b"v")
        await until(lambda: passes.later == MOST_WITHOUT_DATA + 1)
        await until(lambda: passes.connections > 1)
        await producer.close(0)
    assert passes.later == MOST_WITHOUT_DATA + 1
