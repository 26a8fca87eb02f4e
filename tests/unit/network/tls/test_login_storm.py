"""A login among many that begin a TLS handshake and do not go on; who gives way, not how long it takes."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.network.admission.listener_admission import MEMORY_BYTES
from stepdown.network.tls.tls_wire import HANDSHAKE_BYTES
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.hostile.strangers import Tls
from support.running import until
from support.sasl_client import log_in
from support.secure import secure_broker, secure_settings

PLACES = MEMORY_BYTES // HANDSHAKE_BYTES
HALVES = 200
HOSTS = ("127.0.0.1", "127.0.0.2")
TOO_SLOW = "it is too slow while others wait"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@asynccontextmanager
async def storm(broker: Broker, hello: bytes, count: int) -> AsyncIterator[None]:
    """So many connections from 127.0.0.1 that send `hello` and nothing after it."""
    port = broker.addresses["SASL_SSL"].port
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(hello)
        writers.append(writer)
    try:
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


def hello() -> bytes:
    """A whole ClientHello."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    outgoing = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="broker.test").do_handshake()
    return outgoing.read()


async def log_in_from(broker: Broker, authority: Authority, host: str) -> None:
    context = ssl.create_default_context(cafile=str(authority.file))
    port = broker.addresses["SASL_SSL"].port
    async with (
        asyncio.timeout(DEADLINE_S),
        await RawClient.connect("127.0.0.1", port, ssl=context, own_host=host) as client,
    ):
        assert (await log_in(client)).error_code == 0
        assert (await client.send(MetadataRequest(topics=None), 9)).brokers


@pytest.mark.lengthy
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("size", [1, 5, 100], ids=["a byte", "the head of a record", "half of it"])
async def test_half_hellos_hold_no_place(
    tmp_path: Path, authority: Authority, host: str, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    """300 half hellos delayed a login by 6 s, 1,000 kept everybody out."""
    async with (
        secure_broker(tmp_path / "data", secure_settings(authority)) as broker,
        storm(broker, hello()[:size], HALVES),
    ):
        await until(lambda: broker.connections == HALVES)
        memory = broker._admissions["SASL_SSL"]._shared.memory
        assert memory.in_use_bytes == 0
        await log_in_from(broker, authority, host)
        assert memory.waits == 0
        assert TOO_SLOW not in caplog.text


@pytest.mark.lengthy
@pytest.mark.parametrize("host", HOSTS)
async def test_one_handshake_that_does_nothing_gives_way_to_a_login(
    tmp_path: Path, authority: Authority, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        secure_broker(tmp_path / "data", secure_settings(authority)) as broker,
        storm(broker, hello(), PLACES),
    ):
        memory = broker._admissions["SASL_SSL"]._shared.memory
        await until(lambda: memory.in_use_bytes == MEMORY_BYTES)
        await log_in_from(broker, authority, host)
        assert caplog.text.count(TOO_SLOW) == 1
        assert memory.waits == 1


async def test_a_hello_in_two_parts_and_one_that_ends_early_are_what_they_were(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
        port = broker.addresses["SASL_SSL"].port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        tls = Tls(reader, writer)
        write = writer.write
        parts: list[int] = []

        def write_in_parts(data: bytes) -> None:
            parts.append(len(data))
            write(data[:50])
            asyncio.get_running_loop().call_later(0.01, write, data[50:])

        writer.write = write_in_parts  # type: ignore[method-assign]
        async with asyncio.timeout(DEADLINE_S):
            await tls.shake_hands()
        assert parts
        writer.transport.abort()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(hello()[:50])
        writer.close()
        await until(lambda: broker.connections == 0)
    assert "Traceback" not in caplog.text
