"""TLS records without data: a peer that sends them in any number holds nobody up, and is hung up on."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.network.memory_budget import MemoryBudget
from stepdown.network.tls.tls_wire import MOST_UNSENT_BYTES, TlsWire
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.tls_records import MOST_WITHOUT_DATA, TlsBuffers, TlsRecords
from support.certificates import Authority
from support.deadline import DEADLINE_S
from support.hostile.tls_floods import (
    DATA,
    FLOODS,
    FLOODS_12,
    RENEWAL_WITH_ANSWER,
    Forger,
    client_context,
    renewal,
    shake_hands,
)
from support.running import until
from support.secure import secure_broker, secure_settings

FLOOD = 2_000
MOST_WARNINGS = 5
"""OpenSSL's own limit."""
KINDS = [
    *(pytest.param(ssl.TLSVersion.TLSv1_3, kind, id=f"1.3, {kind}") for kind in FLOODS),
    *(pytest.param(ssl.TLSVersion.TLSv1_2, kind, id=f"1.2, {kind}") for kind in FLOODS_12),
]


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(Authority(tmp_path))) as broker:
        yield broker


class Calls:
    """How many records a wire has handed OpenSSL: the most in one call, and all."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.most = self.all = self._now = 0
        receive, open_record = TlsWire.try_receive, TlsRecords.decrypt

        def count_call(wire: TlsWire, most_bytes: int) -> bytes | None:
            self._now = 0
            try:
                return receive(wire, most_bytes)
            finally:
                self.most = max(self.most, self._now)

        def count_record(records: TlsRecords, data: memoryview) -> bytes:
            ends = 0 < records._left <= len(data)
            self._now, self.all = self._now + ends, self.all + ends
            return open_record(records, data)

        patch.setattr(TlsWire, "try_receive", count_call)
        patch.setattr(TlsRecords, "decrypt", count_record)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


async def connect(
    broker: Broker, version: ssl.TLSVersion, folder: Path
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Forger]:
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.addresses["SSL"].port)
    return reader, writer, await shake_hands(client_context(version), reader, writer, folder, server=False)


@pytest.mark.parametrize(("version", "kind"), KINDS)
async def test_a_flood_of_records_without_data_ends_the_connection(
    broker: Broker, calls: Calls, tmp_path: Path, version: ssl.TLSVersion, kind: str
) -> None:
    """100,000 renewals of a key, of a client without a login, held the loop for 6 s."""
    reader, writer, forger = await connect(broker, version, tmp_path)
    make = (FLOODS if version is ssl.TLSVersion.TLSv1_3 else FLOODS_12)[kind]
    writer.write(b"".join(make(forger) for _ in range(FLOOD)))
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(ConnectionError):
            while await reader.read(1 << 16):
                pass
            raise ConnectionResetError
    await until(lambda: broker.connections == 0)
    assert calls.most == 1
    assert calls.all == (MOST_WARNINGS if kind == "warnings" else MOST_WITHOUT_DATA + 1)
    writer.transport.abort()


async def test_records_of_a_byte_are_taken_in_parts(broker: Broker, calls: Calls, tmp_path: Path) -> None:
    """Data in the smallest records: 128 KiB of it in one go held the loop for half a second."""
    _, writer, forger = await connect(broker, ssl.TLSVersion.TLSv1_3, tmp_path)
    frame = (100_000).to_bytes(4, "big") + bytes(FLOOD)
    writer.write(b"".join(forger.record(DATA, frame[at : at + 1]) for at in range(FLOOD)))
    await until(lambda: calls.all >= FLOOD)
    assert calls.most <= 64
    writer.transport.abort()


async def test_data_pays_for_keys_that_are_renewed(broker: Broker, calls: Calls, tmp_path: Path) -> None:
    """As the honest do it, but more often: with each 4 KiB of a request."""
    _, writer, forger = await connect(broker, ssl.TLSVersion.TLSv1_3, tmp_path)
    renewals = MOST_WITHOUT_DATA * 2
    frame = (renewals * 4096).to_bytes(4, "big") + bytes(renewals * 4096)
    writer.write(b"".join(renewal(forger) + forger.record(DATA, frame[at * 4096 :][:4096]) for at in range(renewals)))
    await until(lambda: calls.all == renewals * 2)
    assert len(broker._server._open) == 1
    writer.transport.abort()


async def test_answers_that_a_peer_does_not_read_are_bounded(tmp_path: Path) -> None:
    """Each renewal may ask for one of ours, which was kept until the peer took it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Authority(tmp_path).issue("broker"))
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    wire = TlsWire(ours, asyncio.get_running_loop(), TlsBuffers())
    reader, writer = await asyncio.open_connection(sock=theirs, limit=1024)
    forging = shake_hands(client_context(ssl.TLSVersion.TLSv1_3), reader, writer, tmp_path, server=False)
    memory = MemoryBudget(1 << 20)
    _, forger = await asyncio.gather(wire.handshake(lambda: context, memory, "127.0.0.1"), forging)
    with pytest.raises(MalformedFrame, match="does not read"):
        while True:
            wire.try_send(bytes(1 << 20))
            writer.write(renewal(forger, RENEWAL_WITH_ANSWER) + forger.record(DATA, bytes(4096)))
            while wire.try_receive(4096) is None:
                await wire.wait_for_bytes()
    assert wire._records is not None
    assert len(wire._records.unsent) < MOST_UNSENT_BYTES + 100
    wire.close()
    writer.transport.abort()
