"""Which of a cluster's addresses is asked, and what is said where none answers."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from stepdown.client.async_client import AsyncClient
from stepdown.client.bootstrap_servers import BootstrapServers
from stepdown.client.errors import ClientError, NoAnswer, Unreachable
from stepdown.client.operation import ask
from stepdown.client.steps import await_steps, take_steps
from stepdown.config import HostPort
from stepdown.protocol.messages.metadata import MetadataRequest
from support.running import running_broker

SERVERS = [HostPort(name, 9092) for name in "abcde"]


def refuse(address: HostPort) -> None:
    raise Unreachable(f"nobody at {address}", address)


def test_each_server_is_named_with_its_reason_and_of_many_the_first() -> None:
    """The last one alone was named."""
    for count, told in (
        (1, "nobody at a:9092"),
        (2, "nobody at a:9092, b:9092"),
        (5, "nobody at a:9092, b:9092, c:9092, and 2 more"),
    ):
        with pytest.raises(Unreachable) as raised:
            take_steps(BootstrapServers(SERVERS[:count]).try_each(lambda address: address), refuse)
        assert str(raised.value) == told


def test_other_reasons_stand_by_themselves() -> None:
    """A reason that two servers had was said twice."""
    reasons = {"a": "a:9092 is silent", "b": "b:9092 hung up", "c": "c:9092 is silent"}

    def fail(address: HostPort) -> None:
        raise NoAnswer(reasons[address.host])

    with pytest.raises(NoAnswer, match=r"^a:9092, c:9092 is silent; b:9092 hung up$"):
        take_steps(BootstrapServers(SERVERS[:3]).try_each(lambda address: address, NoAnswer), fail)


def test_another_failure_is_not_tried_elsewhere() -> None:
    def forbid(address: HostPort) -> None:
        raise ClientError(f"forbidden by {address}")

    with pytest.raises(ClientError, match="forbidden by a:9092"):
        take_steps(BootstrapServers(SERVERS).try_each(lambda address: address), forbid)


async def test_those_who_ask_at_once_come_to_the_server_that_answers() -> None:
    """Each of two who failed at the first server moved the other one to the end, and it was asked twice."""
    servers, both_wait, asked = BootstrapServers(SERVERS[:2]), asyncio.Barrier(2), []

    async def ask(address: HostPort) -> str:
        asked.append(address.host)
        if address == SERVERS[0]:
            await both_wait.wait()
            raise NoAnswer("a is silent")
        return address.host

    tries = [await_steps(servers.try_each(lambda address: address), ask) for _ in range(2)]
    assert await asyncio.gather(*tries) == ["b", "b"]
    assert await await_steps(servers.try_each(lambda address: address), ask) == "b"
    assert asked == ["a", "a", "b", "b", "b"]


async def test_brokers_that_were_learned_are_asked_where_none_that_was_given_answers() -> None:
    """A gateway whose only bootstrap server was away had no cluster, though its other brokers lived."""
    servers, asked = BootstrapServers(SERVERS[:1]), []
    servers.add_brokers(SERVERS[:3])

    async def ask(address: HostPort) -> str:
        asked.append(address.host)
        if address != SERVERS[2]:
            raise NoAnswer(f"{address} is silent")
        return address.host

    assert await await_steps(servers.try_each(lambda address: address), ask) == "c"
    assert asked == ["a", "b", "c"]


def ask_in_order(servers: BootstrapServers, alive: str) -> str:
    """The servers that were asked, where those in `alive` answer."""
    asked = ""

    def answer(address: HostPort) -> None:
        nonlocal asked
        asked += address.host
        if address.host not in alive:
            raise NoAnswer(f"{address} is silent")

    with suppress(NoAnswer):
        take_steps(servers.try_each(lambda address: address), answer)
    return asked


def test_a_learned_broker_that_answered_last_is_asked_first_until_it_fails() -> None:
    """A silent given server cost each connection of a client half a minute, though learned brokers answered."""
    servers = BootstrapServers(SERVERS[:1])
    servers.add_brokers(SERVERS[1:3])
    assert [ask_in_order(servers, "bc") for _ in range(2)] == ["ab", "b"]
    assert [ask_in_order(servers, "ac") for _ in range(2)] == ["ba", "a"]


def test_a_broker_that_the_cluster_names_no_more_is_not_asked_first() -> None:
    servers = BootstrapServers(SERVERS[:1])
    servers.add_brokers(SERVERS[1:3])
    assert ask_in_order(servers, "b") == "ab"
    servers.add_brokers(SERVERS[2:3])
    assert ask_in_order(servers, "bc") == "ac"


def test_after_a_time_when_none_answered_the_given_servers_come_first() -> None:
    servers = BootstrapServers(SERVERS[:1])
    servers.add_brokers(SERVERS[1:3])
    assert [ask_in_order(servers, alive) for alive in ("c", "", "ac")] == ["abc", "cab", "a"]


async def test_a_server_that_is_no_broker_is_passed_over(tmp_path: Path) -> None:
    """A gateway with one as its first bootstrap server served clients, but was never ready."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as other, running_broker(tmp_path) as broker:
        servers = [HostPort(*other.sockets[0].getsockname()), broker.address]
        client = AsyncClient(servers, client_id="test")
        try:
            found = await client.run(ask(MetadataRequest(topics=()), within=(1, 1)))
            assert [each.port for each in found.brokers] == [broker.address.port]
        finally:
            client.close()
