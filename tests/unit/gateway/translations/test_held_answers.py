"""The memory of answers that are held as a whole: what is charged with it, and that nobody waits while holding some."""

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from stepdown.config import HostPort
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.request_frame import RequestHead
from stepdown.gateway.routes import ROUTES
from stepdown.gateway.sessions.broker_link import BrokerLink
from stepdown.gateway.sessions.client_request import ClientRequest
from stepdown.gateway.sessions.client_session import ClientSession
from stepdown.gateway.sessions.router import BrokerPart
from stepdown.gateway.translations.held_answers import HeldAnswerMemory
from stepdown.gateway.upstream_connection import UpstreamConnection
from stepdown.network.admission.request_claims import BYTES_A_BYTE
from stepdown.network.memory_budget import MemoryBudget
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_request, encode_response
from stepdown.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from stepdown.protocol.records.builder import build_batch
from support.clock import settle
from support.echoing_cluster import EchoingCluster, ask_by_socket, request_of
from support.fetching import create, fetch, produce, records
from support.gateway import gateway_to, running_gateway, started

MEGABYTE = 1 << 20
VERSION, CORRELATION_ID = 11, 7


def fetched(index: int) -> bytes:
    """The answer of a broker that leads one partition, on the wire."""
    partition = PartitionData(partition_index=index, high_watermark=1, records=bytes(MEGABYTE))
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    return b"".join(map(bytes, encode_response(API[ApiKey.FETCH], VERSION, CORRELATION_ID, response)))  # type: ignore[arg-type]


def link_to_broker(gateway: Gateway) -> BrokerLink:
    """A connection that gets what a test feeds it."""
    connection = UpstreamConnection(HostPort("b", 9), lambda: None)
    connection.connection_made(Mock())
    return BrokerLink(gateway._tools, connection, {}, HostPort("b", 9))


async def test_one_of_several_brokers_that_waits_keeps_no_memory_from_others() -> None:
    """A client that had one broker send 16 MB and another wait held half of the memory of answers for as long as it
    liked: three of them stopped all others. Forty, of which each waited for more beside what it held, took 500 MB."""
    gateway = gateway_to("127.0.0.1:1", addresses="single")
    memory = gateway._answer_memory
    held = HeldAnswerMemory(memory, "a")
    session = ClientSession(
        gateway._tools, lambda: 1, lambda: None, lambda: held, lambda: None, lambda passer: None, (0, 0)
    )
    first, second = link_to_broker(gateway), link_to_broker(gateway)
    parts = [BrokerPart(first, fetch("t", partitions=(0,))), BrokerPart(second, fetch("t", partitions=(1,)))]
    asked = ClientRequest(RequestHead(ApiKey.FETCH, VERSION, CORRELATION_ID), "c")
    assert session._router is not None
    asking = asyncio.create_task(session._router._ask_and_join(ROUTES[ApiKey.FETCH], parts, VERSION, asked, held))
    first.connection.data_received(fetched(0))
    await settle()
    assert memory.in_use_bytes == 0
    second.connection.data_received(fetched(1))
    response = await asking
    assert [each.partition_index for topic in response.responses for each in topic.partitions] == [0, 1]
    assert 2 * MEGABYTE < memory.in_use_bytes < 2 * MEGABYTE + 1000
    held.release()
    assert memory.in_use_bytes == 0


async def test_who_holds_answers_does_not_wait_for_more() -> None:
    """Each of 300 fetches held half a megabyte, which was charged nowhere while it waited to read a larger batch."""
    memory = MemoryBudget(4 * MEGABYTE)
    held = HeldAnswerMemory(memory, "a")
    assert await held.claim_for(MEGABYTE, is_decoded=False)
    held.kept_bytes = MEGABYTE
    assert await held.claim_for(MEGABYTE, is_decoded=False)
    assert memory.in_use_bytes == 2 * MEGABYTE
    held.kept_bytes = 2 * MEGABYTE
    with await memory.claim(2 * MEGABYTE):
        assert not await held.claim_for(MEGABYTE, is_decoded=False)
    assert await held.claim_for(MEGABYTE, is_decoded=False)
    held.release()
    assert memory.in_use_bytes == 0


async def test_a_batch_that_has_no_room_beside_others_comes_first_the_next_time(tmp_path: Path) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        memory = stage.gateway._answer_memory
        await create(own, "orders", 3)
        small, large = build_batch(records(100, 1000)), build_batch(records(1, 1_000_000))
        for index, batch in enumerate((small, large, small)):
            await produce(own, "orders", batch, index)
        request = fetch("orders", partitions=range(3))
        others = memory.claim_unconditionally(memory.limit_bytes - MEGABYTE)
        assert await sizes_of(client, request) == {0: True, 1: False, 2: True}
        others.release()
        others = memory.claim_unconditionally(memory.limit_bytes - MEGABYTE - MEGABYTE // 2)
        assert (await sizes_of(client, request))[1]
        others.release()


async def sizes_of(client: Any, request: Any) -> dict[int, bool]:
    """Of which partitions records came, with Fetch 1."""
    (topic,) = (await client.send(request, 1)).responses
    return {each.partition_index: bool(each.records) for each in topic.partitions}


async def test_answers_that_become_objects_are_charged_as_these() -> None:
    """Six DescribeConfigs 0 whose answers had 12 MB each took 650 MB: once read, they were charged with nothing."""
    spec, version = API[ApiKey.DESCRIBE_CONFIGS], 0
    with EchoingCluster(1) as cluster:
        async with started(gateway_to(cluster.bootstrap)) as gateway:
            cluster.items = 2_000
            request = request_of(spec.key, version, cluster.items, 0)
            frame = b"".join(map(bytes, encode_request(spec, version, 7, "test", request)))  # type: ignore[arg-type]
            answer = await asyncio.to_thread(ask_by_socket, gateway.address.port, frame)
            assert gateway._answer_memory.peak_bytes > BYTES_A_BYTE * len(answer)
