"""TLS at a listener: who gets in, what a stalled reader holds, certificates that change."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.broker.broker import Broker
from stepdown.network.tls.tls_wire import TlsWire
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.tls_records import TlsBuffers
from support.certificates import Authority
from support.client import RawClient
from support.running import until
from support.secure import secure_broker, secure_settings

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
        yield broker


def trusting(authority: Authority, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if own is not None:
        context.load_cert_chain(own)
    return context


async def connect(broker: Broker, listener: str, context: ssl.SSLContext) -> RawClient:
    return await RawClient.connect("127.0.0.1", broker.addresses[listener].port, ssl=context)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
async def test_requests_are_answered_over_tls(broker: Broker, authority: Authority, version: ssl.TLSVersion) -> None:
    context = trusting(authority)
    context.minimum_version = context.maximum_version = version
    async with await connect(broker, "SSL", context) as client:
        answer = await client.send(ALL_TOPICS, 9)
        assert answer.brokers[0].port == broker.addresses["SSL"].port


async def test_a_certificate_says_who_a_client_is(broker: Broker, authority: Authority) -> None:
    own = authority.issue("carol", "carol.test")
    async with await connect(broker, "MTLS", trusting(authority, own)) as client:
        await client.send(ALL_TOPICS, 9)
        (principal,) = [str(each.peer.principal) for each in broker._server._open if each.peer.listener == "MTLS"]
    assert principal.startswith("User:CN=carol,")


async def test_without_a_certificate_that_is_required_nobody_gets_in(
    broker: Broker, authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    stranger = Authority(tmp_path / "other", "stranger").issue("carol", "carol.test")
    expired = authority.issue("dave", "dave.test", ends=datetime.now(UTC) - timedelta(minutes=1))
    for own in (None, stranger, expired):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with await connect(broker, "MTLS", trusting(authority, own)) as client:
                await client.send(ALL_TOPICS, 9)
    assert broker.metrics.failed_authentications.of("MTLS", "").value == 3


@pytest.mark.parametrize("last", [bytes(5), b""], ids=["zeros", "nothing"])
async def test_a_client_that_gives_up_at_the_certificate_is_asked_what_it_trusts(
    broker: Broker, authority: Authority, caplog: pytest.LogCaptureFixture, last: bytes
) -> None:
    """Java 0.9 with another authority was said to speak no TLS, since it sends zeros where it gives up."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting(authority).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.addresses["SSL"].port)
    writer.write(outgoing.read())
    await reader.readexactly(5)  # of the answer
    writer.write(last)
    writer.write_eof()
    await reader.read()
    writer.close()
    await until(lambda: "TLS handshake failed" in caplog.text)
    assert "ssl.keystore.*: does it trust the authority that signed it?" in caplog.text
    assert "speaks no TLS" not in caplog.text


async def test_a_session_that_is_resumed_is_the_same_users(broker: Broker, authority: Authority) -> None:
    context = trusting(authority, authority.issue("carol", "carol.test"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # later ones tell of a session after the handshake
    address = ("127.0.0.1", broker.addresses["MTLS"].port)

    def connected(session: ssl.SSLSession | None) -> tuple[ssl.SSLSession | None, str]:
        with (
            socket.create_connection(address) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as secured,
        ):
            secured.sendall(frame_of(ALL_TOPICS, 9))
            assert secured.recv(4)
            assert secured.session_reused is (session is not None)
            (user,) = [str(each.peer.principal) for each in broker._server._open if each.peer.listener == "MTLS"]
            return secured.session, user

    session, user = await asyncio.to_thread(connected, None)
    await until(lambda: broker._server.connection_count == 0)
    assert await asyncio.to_thread(connected, session) == (session, user)
    assert user.startswith("User:CN=carol,")


async def test_plain_bytes_and_a_client_that_leaves_end_without_noise(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    async with await RawClient.connect("127.0.0.1", broker.addresses["SSL"].port) as client:
        await client.begin(ALL_TOPICS, 9)
        with suppress(ConnectionError, MalformedFrame):  # an alert, which is no frame
            await client.read_frame()
    lines = [each.getMessage() for each in caplog.records if "closing" in each.getMessage()]
    assert len(lines) == 1
    assert "TLS handshake failed: " in lines[0]
    assert "Traceback" not in caplog.text


async def test_new_certificates_are_used_and_nobody_is_hung_up_on(
    broker: Broker, authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    renewed = Authority(tmp_path / "new", "renewed")
    own = Path(broker.settings.listener_security["SSL"].tls.own_file)  # type: ignore[union-attr, arg-type]
    tls_context = broker._admissions["SSL"]._tls_context
    assert tls_context is not None
    async with await connect(broker, "SSL", trusting(authority)) as client:
        await client.send(ALL_TOPICS, 9)
        await asyncio.to_thread(own.write_text, "nothing of use")
        tls_context._looked_ms = 0
        async with await connect(broker, "SSL", trusting(authority)) as other:  # the old ones stay
            await other.send(ALL_TOPICS, 9)
        await asyncio.to_thread(renewed.issue("broker").replace, own)
        tls_context._looked_ms = 0
        async with await connect(broker, "SSL", trusting(renewed)) as newer:
            await newer.send(ALL_TOPICS, 9)
        await client.send(ALL_TOPICS, 9)


async def wires(authority: Authority) -> tuple[TlsWire, ssl.SSLSocket]:
    """A wire and its peer after the handshake, over buffers of 16 KiB."""
    from stepdown.network.memory_budget import MemoryBudget

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker"))
    ours, theirs = socket.socketpair()
    for each in (ours, theirs):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    wire = TlsWire(ours, asyncio.get_running_loop(), TlsBuffers())
    client = asyncio.to_thread(trusting(authority).wrap_socket, theirs, server_hostname="127.0.0.1")
    _, peer = await asyncio.gather(wire.handshake(lambda: context, MemoryBudget(1 << 20), "127.0.0.1"), client)
    return wire, peer


def drained(peer: ssl.SSLSocket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += peer.recv(1 << 16)
    return data


async def test_what_a_stalled_peer_does_not_take_comes_whole_when_it_does(authority: Authority, tmp_path: Path) -> None:
    data = os.urandom(1_000_000)
    file = tmp_path / "file"
    file.write_bytes(data)
    wire, peer = await wires(authority)
    with file.open("rb") as opened:
        sent = 0
        reading: asyncio.Task[bytes] | None = None
        while sent < len(data):
            taken = wire.try_send_file(opened.fileno(), sent, len(data) - sent)
            sent += taken
            if sent < len(data):
                if reading is None:
                    assert wire.try_send_file(opened.fileno(), sent, len(data) - sent) == 0
                    reading = asyncio.create_task(asyncio.to_thread(drained, peer, len(data)))
                await wire.wait_for_room()
        assert reading is not None
        assert await reading == data
    wire.close()
    peer.close()


async def test_all_that_is_decrypted_is_taken(authority: Authority) -> None:
    """Bytes that stay inside OpenSSL do not make the socket readable."""
    wire, peer = await wires(authority)
    sending = asyncio.create_task(asyncio.to_thread(peer.sendall, bytes(100_000)))
    received = 0
    while received < 100_000:
        part = wire.try_receive(4096)
        if part is None:
            await wire.wait_for_bytes()
        else:
            received += len(part)
    await sending
    peer.close()
    wire.close()
