"""How many connections a listener takes, and how fast."""

import asyncio
import errno
import os
import socket
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.config.keys.endpoints import parse_overrides_per_ip
from stepdown.network.admission import descriptor_reserve
from stepdown.network.listener import ConnectionLimits
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.running import running_broker, until

BROKER = 4
TWO = {
    "listeners": "ONE://127.0.0.1:0,TWO://127.0.0.1:0",
    "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
}
ALL_TOPICS = MetadataRequest(topics=None)


async def connect(broker: Broker, listener: str) -> RawClient:
    return await RawClient.connect("127.0.0.1", broker.addresses[listener].port)


async def answers(client: RawClient) -> bool:
    return bool((await client.send(ALL_TOPICS, 9)).brokers)


async def test_a_listener_that_has_all_its_connections_takes_another_when_one_ends(tmp_path: Path) -> None:
    async with running_broker(tmp_path, **TWO, **{"listener.name.one.max.connections": 1}) as broker:
        first, waiting, other = [await connect(broker, each) for each in ("ONE", "ONE", "TWO")]
        asked = asyncio.ensure_future(answers(waiting))
        assert await answers(first)
        assert await answers(other)
        assert broker.connections == 2
        assert not asked.done()
        await first.close()
        async with asyncio.timeout(DEADLINE_S):
            assert await asked
        for client in (waiting, other):
            await client.close()


@pytest.mark.lengthy
async def test_the_limit_of_a_listener_may_change(tmp_path: Path) -> None:
    async with running_broker(tmp_path, **TWO, **{"listener.name.one.max.connections": 1}) as broker:
        first, waiting, other = [await connect(broker, each) for each in ("ONE", "ONE", "TWO")]
        asked = asyncio.ensure_future(answers(waiting))
        change = AlterableConfig(name="listener.name.one.max.connections", config_operation=0, value="2")
        resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=(change,))
        answer = await other.send(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
        assert answer.responses[0].error_code == ErrorCode.NONE
        async with asyncio.timeout(DEADLINE_S):
            assert await asked
        for client in (first, waiting, other):
            await client.close()


async def test_a_listener_that_gets_connections_too_fast_lets_the_rest_wait(tmp_path: Path) -> None:
    clock = ManualClock()
    settings = {**TWO, "listener.name.one.max.connection.creation.rate": 1}
    async with running_broker(tmp_path, clock=clock, **settings) as broker:
        taken = [await connect(broker, "ONE") for _ in range(30)]
        free = await connect(broker, "TWO")
        assert await answers(free)
        assert await answers(taken[0])
        before = broker.connections
        assert before < 31
        async with asyncio.timeout(DEADLINE_S):
            while broker.connections < 31:
                await clock.advance(1_000)
        for client in (*taken, free):
            await client.close()


async def test_without_descriptors_there_is_a_line_a_minute_with_the_count_and_the_loop_does_not_spin(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a second it was said that nothing could be accepted."""
    tries: list[None] = []

    def refuse(_: socket.socket) -> tuple[socket.socket, object]:
        tries.append(None)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        with monkeypatch.context() as patched:
            patched.setattr("stepdown.network.listener.socket.socket.accept", refuse)
            (listener,) = broker.addresses
            waiting = await connect(broker, listener)
            for second in range(1, 126):
                await until(lambda second=second: len(tries) >= second)
                await clock.advance(1_000)
        said = [record.getMessage() for record in caplog.records if "cannot accept" in record.getMessage()]
        assert [text.partition("(")[2].partition(" times")[0] for text in said] == ["", "59", "59"]
        assert len(tries) in (125, 126)
        await clock.advance(1_000)
        assert await answers(waiting)
        await waiting.close()
    assert "Traceback" not in caplog.text


async def test_clients_wait_when_few_descriptors_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients took the descriptors that were let go for the import of a handler, in the middle of it."""
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        (listener,) = broker.addresses
        free = [os.dup(0) for _ in range(2 * BROKER)]  # what is in use may have gaps, of tests before this one
        for descriptor in free:
            os.close(descriptor)
        limit = max(free) + 1 + descriptor_reserve.RESERVED
        monkeypatch.setattr(descriptor_reserve.resource, "getrlimit", lambda _: (limit, limit))
        clients = [await connect(broker, listener) for _ in range(2 * BROKER)]
        await until(lambda: "cannot accept" in caplog.text)
        assert broker.connections <= BROKER
        asked = [asyncio.ensure_future(answers(client)) for client in clients]
        for client, answer in zip(clients, asked, strict=True):
            while not answer.done():
                await clock.advance(1_000)
            await client.close()
        assert all(await asyncio.gather(*asked))


@pytest.mark.parametrize("written", ["[::1]", "::1", "0:0:0:0:0:0:0:1", "0::0001"])
def test_the_limit_of_an_address_holds_however_it_is_written(written: str) -> None:
    """An override for `::1` held only for clients whose address was written in the same way."""
    limits = ConnectionLimits(
        connections=9,
        at_listener={},
        per_ip=7,
        per_host=dict(parse_overrides_per_ip(f"{written}:2,10.0.0.1:3")),
        silent=9,
        idle_ms=1,
        backlog=1,
        send_buffer_bytes=-1,
        receive_buffer_bytes=-1,
    )
    addresses = ("::1", "0:0:0:0:0:0:0:1", "::ffff:10.0.0.1", "::2")
    assert [limits.most_connections_of(each) for each in addresses] == [2, 2, 3, 7]
