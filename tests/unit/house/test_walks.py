"""The requests that docs/architecture.md follows from the socket to bytes call those functions, in that order."""

import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import stepdown
from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.admin import new_topic
from support.client import RawClient
from support.gateway import running_gateway
from support.record_sets import record_set
from support.running import running_broker

ROOT = Path(stepdown.__file__).parent
PAGE = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
MOST_FILES = 10
READ = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 17)
FETCH = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic="t", partitions=(READ,)),))
OFFSETS = ListOffsetsRequest(
    topics=(ListOffsetsTopic(name="t", partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),)),)
)
JOIN = JoinGroupRequest(
    group_id="g",
    session_timeout_ms=10_000,
    rebalance_timeout_ms=10_000,
    protocol_type="consumer",
    protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
)


def join_with_id(first: JoinGroupResponse) -> JoinGroupRequest:
    return replace(JOIN, member_id=first.member_id)


def sync(joined: JoinGroupResponse) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=(SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all"),),
    )


def produce(value_bytes: int, codec: Codec = Codec.NONE) -> ProduceRequest:
    record = Record(offset=0, timestamp=1, key=None, value=bytes(value_bytes))
    data = PartitionProduceData(index=0, records=record_set(2, codec, [record]))
    return ProduceRequest(acks=-1, timeout_ms=9000, topic_data=(TopicProduceData(name="t", partition_data=(data,)),))


SMALL, LARGE = produce(100), produce(80_000)
"""What is small is converted in the event loop, where its steps are seen."""

PRODUCE = "Produce v9 with acks=all"
# The requests before it, and the one that is followed; one may be made from the response to the one before it.
OF_A_BROKER: dict[str, list[tuple[Any, int]]] = {
    "Fetch v11": [(LARGE, 9), (FETCH, 11), (FETCH, 11)],
    "Fetch v2": [(LARGE, 9), (FETCH, 2), (FETCH, 2)],
    PRODUCE: [(LARGE, 9), (LARGE, 9)],
    "JoinGroup v9": [(FindCoordinatorRequest(key="g"), 0), (JOIN, 9), (join_with_id, 9)],
    "SyncGroup v5": [(FindCoordinatorRequest(key="g"), 0), (JOIN, 9), (join_with_id, 9), (sync, 5)],
}
OF_A_GATEWAY: dict[str, list[tuple[Any, int]]] = {
    "Fetch v2 through a gateway": [(SMALL, 9), (FETCH, 2), (FETCH, 2)],
    "ListOffsets v7 through a gateway": [(OFFSETS, 7), (OFFSETS, 7)],
}


def walk_on_the_page(name: str) -> list[str]:
    section = next(part for part in PAGE.split("\n## ") if f": {name}, from the socket to bytes\n" in part)
    rows = re.findall(r"^\| `([a-z0-9_/]+\.py)` \| (.*?) \|", section, re.MULTILINE)
    return [f"{path} {function}" for path, cell in rows for function in re.findall(r"`([\w.]+)`", cell)]


@contextmanager
def functions_called() -> Iterator[list[str]]:
    """The product's functions with their files, call after call; a coroutine that goes on is called again.

    Compiled functions do not show.
    """
    called: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{ROOT}/"):
            called.append(f"{path[len(str(ROOT)) + 1 :]} {frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)


@asynccontextmanager
async def client_of_a_broker(folder: Path) -> AsyncIterator[RawClient]:
    async with running_broker(folder, group_initial_rebalance_delay_ms=0) as broker:
        yield await RawClient.connect(broker.address.host, broker.address.port)


@asynccontextmanager
async def client_of_a_gateway(folder: Path) -> AsyncIterator[RawClient]:
    async with running_gateway(folder) as stage:
        yield await stage.connect()


async def functions_of(client: RawClient, requests: list[tuple[Any, int]]) -> list[str]:
    response = await client.send(CreateTopicsRequest(topics=(new_topic("t"),)), 7)
    *before, (request, version) = requests
    for each, its_version in before:
        response = await client.send(_made(each, response), its_version)
    frame = client.frame(_made(request, response), version)
    with functions_called() as called:
        await client.send_raw(frame)
        await client.read_frame()
    await client.close()
    return called


def _made(request: Any, response: Any) -> Any:
    return request(response) if callable(request) else request


def assert_goes_as_on_the_page(name: str, called: list[str]) -> None:
    calls = iter(called)
    page = walk_on_the_page(name)
    assert [step for step in page if step not in calls] == []
    assert 0 < len({step.split()[0] for step in page}) <= MOST_FILES


@pytest.mark.parametrize("name", OF_A_BROKER)
async def test_a_request_goes_the_way_that_the_page_of_the_house_shows(name: str, tmp_path: Path) -> None:
    async with client_of_a_broker(tmp_path) as client:
        assert_goes_as_on_the_page(name, await functions_of(client, OF_A_BROKER[name]))


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE], ids=lambda codec: codec.name)
async def test_a_small_compressed_produce_goes_the_same_way(codec: Codec, tmp_path: Path) -> None:
    """The page had a worker thread decompress every codec, which only large batches need."""
    async with client_of_a_broker(tmp_path) as client:
        called = await functions_of(client, [(SMALL, 9), (produce(100, codec), 9)])
    assert_goes_as_on_the_page(PRODUCE, called)


@pytest.mark.parametrize("name", OF_A_GATEWAY)
async def test_a_request_goes_through_a_gateway_as_the_page_shows(name: str, tmp_path: Path) -> None:
    async with client_of_a_gateway(tmp_path) as client:
        assert_goes_as_on_the_page(name, await functions_of(client, OF_A_GATEWAY[name]))


def test_each_walk_of_the_page_is_followed() -> None:
    titles = re.findall(r"^## .*?: (.+), from the socket to bytes$", PAGE, re.MULTILINE)
    assert titles == [*OF_A_BROKER, *OF_A_GATEWAY]
