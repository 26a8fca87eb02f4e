"""A broker in the test's process spoken to in a few words: topics, record sets, fetches of every version."""

import asyncio
from collections.abc import Iterable
from typing import Any

from stepdown.broker.broker import Broker
from stepdown.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import TimestampType
from stepdown.protocol.records.record import Record

from .client import RawClient
from .deadline import DEADLINE_S


async def connect(broker: Broker) -> RawClient:
    return await RawClient.connect(broker.address.host, broker.address.port)


async def create(client: RawClient, name: str, partitions: int = 1, **configs: str) -> None:
    given = tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=given)
    response = await client.send(CreateTopicsRequest(topics=(topic,)), 4)
    assert response.topics[0].error_code == 0, response


def records(count: int, size: int = 100, *, first: int = 0, offset: int = 0) -> list[Record]:
    return [
        Record(
            offset=offset + n,
            timestamp=1_000 + first + n,
            timestamp_type=TimestampType.CREATE_TIME,
            key=f"k{first + n}".encode(),
            value=bytes([65 + (first + n) % 26]) * size,
            headers=(("h", b"1"),),
        )
        for n in range(count)
    ]


async def produce(client: RawClient, topic: str, batch: bytes, index: int = 0, *, version: int = 7) -> None:
    data = PartitionProduceData(index=index, records=batch)
    request = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=(TopicProduceData(name=topic, partition_data=(data,)),)
    )
    answer = (await client.send(request, version)).responses[0].partition_responses[0]
    assert answer.error_code == 0, answer


def fetch(
    topic: str, offset: int = 0, *, partitions: Iterable[int] = (0,), max_bytes: int = 1 << 20, **more: Any
) -> FetchRequest:
    wanted = tuple(FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=max_bytes) for p in partitions)
    settings = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 50 << 20, **more}
    return FetchRequest(topics=(FetchTopic(topic=topic, partitions=wanted),), **settings)


async def fetched(client: RawClient, request: FetchRequest, version: int) -> Any:
    """The answer for the first partition."""
    return (await client.send(request, version)).responses[0].partitions[0]


def read(data: memoryview | bytes | None) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """(offset, timestamp, key, value) of what an old client takes from a record set: whole messages, then it stops."""
    found = []
    whole = memoryview(data or b"")
    for batch in iter_batches(whole):
        for record in batch.records():
            key = None if record.key is None else bytes(record.key)
            value = None if record.value is None else bytes(record.value)
            found.append((record.offset, record.timestamp, key, value))
    return found


def magics(data: memoryview) -> set[int]:
    return {batch.magic for batch in iter_batches(data)}


async def parked(broker: Broker) -> None:
    """Returns when a fetch waits in the purgatory."""
    async with asyncio.timeout(DEADLINE_S):
        while not len(broker.fetch_purgatory):  # noqa: ASYNC110 -- the purgatory tells nobody but its waiters
            await asyncio.sleep(0)
