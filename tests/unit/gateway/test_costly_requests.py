"""Requests of a few kilobytes that cost the gateway, or the cluster behind it, far more than what they say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from stepdown.client.cluster import MOST_FOUND, Cluster, Send
from stepdown.client.operation import Coordinator, ask
from stepdown.config import HostPort
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.proxy_header import parse_v1
from stepdown.gateway.routes.locator import MOST_COORDINATORS, BrokerLocator
from stepdown.gateway.routes.route import LeaderTarget
from stepdown.gateway.translations.list_offsets import MOST_LOOKUPS
from stepdown.gateway.translations.produce import MOST_BATCHES
from stepdown.network.admission.remembered_names import USUAL_NAME_BYTES
from stepdown.network.turn import Turns
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.fetching import create, fetched, produce, records
from support.fetching import fetch as fetch_request
from support.gateway import running_gateway

LONG = "x" * 32_000


def list_offsets(times: Sequence[int], partitions: Sequence[int]) -> ListOffsetsRequest:
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=time) for index in partitions for time in times]
    return ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=wanted),))


def bare(count: int) -> list[Record]:
    return [Record(offset=n, timestamp=1, key=None, value=b"") for n in range(count)]


def produce_request(*sets: bytes) -> ProduceRequest:
    data = tuple(PartitionProduceData(index=0, records=each) for each in sets)
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=(TopicProduceData(name="orders", partition_data=data),))


async def refusal(client: RawClient, request: Any, version: int, log: pytest.LogCaptureFixture) -> str:
    """Why the gateway closes the connection instead of answering."""
    log.clear()
    await client.begin(request, version)
    assert await client.read_frame() is None
    return log.text


async def test_a_translated_request_has_as_many_items_as_a_brokers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """1.5 million partitions of ListOffsets 0 took 940 MB, and the event loop for 20 s."""
    async with running_gateway(tmp_path) as stage:
        for request in (list_offsets((-1,), range(20_001)), fetch_request("orders", partitions=range(20_001))):
            async with await stage.connect() as client:
                assert "more than 20000 items in one message" in await refusal(client, request, 0, caplog)
        async with await stage.connect() as client:
            (topic,) = (await client.send(list_offsets((-1,), range(5_000)), 0)).topics
            assert [each.error_code for each in topic.partitions] == [3] * 5_000


async def test_a_partition_has_so_many_times_in_a_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each time was a request to the cluster, and was compared with all before it: 15,000 took 12 s."""
    async with running_gateway(tmp_path) as stage:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders")
        async with await stage.connect() as client:
            (topic,) = (await client.send(list_offsets(range(1, MOST_LOOKUPS - 1), (0, 0)), 0)).topics
            assert [each.error_code for each in topic.partitions] == [0] * (2 * (MOST_LOOKUPS - 2))
            assert stage.front.requests.count((2, 1)) == MOST_LOOKUPS
            assert "times of a partition" in await refusal(client, list_offsets(range(1, 60), (0,)), 0, caplog)


@pytest.mark.parametrize("version", [0, 3])
async def test_a_partition_that_is_named_again_has_its_records_once(tmp_path: Path, version: int) -> None:
    """A topic that was named 3,000 times in 57 kB had 3 GB of answer, or none and a traceback."""
    async with running_gateway(tmp_path) as stage:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders")
            await produce(own, "orders", build_batch(records(3)))
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        topics = (FetchTopic(topic="orders", partitions=(wanted,)),) * 100
        request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics)
        async with await stage.connect() as client:
            answer = await client.send(request, version)
    ((only,),) = [each.partitions for each in answer.responses]
    assert only.partition_index == 0
    assert only.records


async def test_what_opens_to_much_is_converted_by_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two wrappers of 2.5 kB with 77,000 messages held the event loop for 10 s, and 48 kB took two minutes."""
    wrapper = build_batch(bare(1_000), magic=1, codec=Codec.GZIP)
    async with running_gateway(tmp_path) as stage:
        converted = count_work(stage.gateway, monkeypatch)
        async with await stage.connect_to_broker() as own, await stage.connect() as client:
            await create(own, "orders")
            (answer,) = (await client.send(produce_request(wrapper * 3), 1)).responses[0].partition_responses
            assert (answer.error_code, answer.base_offset) == (0, 0)
            assert len(converted) == 1
            assert (await fetched(own, fetch_request("orders"), 11)).high_watermark == 3_000
            converted.clear()
            assert (await fetched(client, fetch_request("orders", 2_999), 1)).records
            assert len(converted) == 1
            plain = build_batch(bare(2), magic=1)
            (answer,) = (await client.send(produce_request(plain), 1)).responses[0].partition_responses
            assert (answer.error_code, answer.base_offset, len(converted)) == (0, 3_000, 1)


async def test_a_long_answer_with_addresses_is_translated_by_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are held up to 256 MB, of two million items, and were read on the event loop."""
    async with running_gateway(tmp_path) as stage:
        done = count_work(stage.gateway, monkeypatch)
        async with await stage.connect() as client:
            few, many = ([f"group-{n}".ljust(60, "x") for n in range(count)] for count in (2, 2_000))
            (one, _) = (await client.send(FindCoordinatorRequest(coordinator_keys=few), 4)).coordinators
            assert done == []
            found = (await client.send(FindCoordinatorRequest(coordinator_keys=many), 4)).coordinators
    assert [each.key for each in found] == many
    assert {(each.host, each.port) for each in found} == {(one.host, one.port)}
    assert len(done) == 2  # which brokers are named; the answer


async def test_a_partition_has_so_many_batches_in_a_request(tmp_path: Path) -> None:
    """Each is a request to the cluster; Kafka takes one where it is compressed."""
    wrapper = build_batch(bare(2), magic=1, codec=Codec.GZIP)
    async with running_gateway(tmp_path) as stage, await stage.connect_to_broker() as own:
        await create(own, "orders")
        async with await stage.connect() as client:
            answers = (await client.send(produce_request(wrapper * (MOST_BATCHES + 1)), 2)).responses
            assert [each.error_code for each in answers[0].partition_responses] == [-1]
            answers = (await client.send(produce_request(*[wrapper] * (MOST_BATCHES + 2)), 2)).responses
            codes = [each.error_code for each in answers[0].partition_responses]
            offsets = [each.base_offset for each in answers[0].partition_responses]
    assert codes == [0] * MOST_BATCHES + [-1, -1]
    assert offsets == [*range(0, 2 * MOST_BATCHES, 2), -1, -1]


def count_work(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the gateway's workers are given from now on."""
    given: list[object] = []
    run = gateway._workers.run

    def note(work: Any) -> Any:
        given.append(work)
        return run(work)

    monkeypatch.setattr(gateway._workers, "run", note)
    return given


async def test_names_of_groups_count_where_their_coordinators_are_remembered() -> None:
    """At one address a client that named 10,000 groups of 32 kB had the gateway hold 320 MB."""

    async def run(operation: Any, login: object) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(node_id=1, host="b", port=9)

    locator = BrokerLocator(run, lambda response: None)
    for number in range(100):
        assert await locator.find_broker(Coordinator(f"{number}{LONG}"), None) == 1
    assert 0 < locator._coordinators.name_bytes <= MOST_COORDINATORS * USUAL_NAME_BYTES


def test_a_client_of_a_cluster_remembers_a_thousand_coordinators() -> None:
    """The gateway's own client kept that of each group that ever committed by OffsetCommit 0."""
    cluster = Cluster([HostPort("b", 9)])
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    for number in range(MOST_FOUND + 10):
        steps = cluster.steps_of(ask(request, to=Coordinator(f"g{number}", looked_up_first=True)))
        step = next(steps)
        assert isinstance(step, Send)
        assert isinstance(step.ask.make_request(1), FindCoordinatorRequest)
        step = steps.send(FindCoordinatorResponse(node_id=1, host="c", port=9))
        assert isinstance(step, Send)
        assert step.address == HostPort("c", 9)
    assert len(cluster._found) == MOST_FOUND


async def test_a_topic_that_is_not_there_is_looked_up_once_a_request() -> None:
    """Each of its partitions was a request to the cluster, by the gateway's own login."""
    asked = []

    async def run(operation: Any, login: object) -> MetadataResponse:
        asked.append(operation)
        return MetadataResponse(brokers=(), topics=(MetadataResponseTopic(error_code=3, name="gone"),))

    locator = BrokerLocator(run, lambda response: None)
    targets = [LeaderTarget("gone", index) for index in range(100)]
    assert await locator.find_brokers(targets, Turns().begin(), None) == dict.fromkeys(targets)
    assert len(asked) == 1


@pytest.mark.parametrize("source", ["::1%eth0", "fe80::1%\x1b[31m", "::1%"])
def test_a_balancer_names_no_zone(source: str) -> None:
    """What stands behind a % may be any text, and went into the lines of the log as it was."""
    with pytest.raises(MalformedFrame):
        parse_v1(f"PROXY TCP6 {source} ::2 1 2\r\n".encode())
