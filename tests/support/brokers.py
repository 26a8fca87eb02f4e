"""A cluster inside the test's own process, and requests that go to its brokers without sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from stepdown.broker.broker import Broker
from stepdown.broker.broker_cluster import BrokerCluster
from stepdown.broker.dispatch.call import Call
from stepdown.broker.handlers import fetch, produce
from stepdown.network.peer import Peer
from stepdown.protocol.api import ApiKey
from stepdown.protocol.frame import RequestHeader
from stepdown.protocol.messages import create_topics as ct
from stepdown.protocol.messages import fetch as f
from stepdown.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.files.files import Files

from .clock import ManualClock, settle


class UnsyncedFiles(Files):
    """Files that nobody waits for: a test does not lose power."""

    def sync(self, handle: FileHandle) -> None:
        pass

    def sync_directory(self, path: str) -> None:
        pass

    def sync_file_system(self, path: str) -> None:
        pass

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        super().replace(path, data, sync=False)


@asynccontextmanager
async def running_cluster(
    directory: Path, brokers: int = 3, *, clock: ManualClock | None = None, seed: int = 0, **settings: object
) -> AsyncIterator[BrokerCluster]:
    """A started cluster; settings by Kafka's names with `_` for `.`."""
    texts = {key.replace("_", "."): str(text) for key, text in settings.items()}
    cluster = BrokerCluster.of(
        directory, brokers, settings=texts, clock=clock or ManualClock(), files=lambda _: UnsyncedFiles(), seed=seed
    )
    async with cluster:
        yield cluster


async def create_topic(
    cluster: BrokerCluster, name: str, *, replicas: tuple[int, ...] = (1, 2, 3), partitions: int = 1, **configs: object
) -> None:
    """A topic of which each partition has these replicas."""
    from stepdown.broker.handlers import create_topics

    texts = [ct.CreatableTopicConfig(name=key.replace("_", "."), value=str(text)) for key, text in configs.items()]
    assignments = [ct.CreatableReplicaAssignment(partition_index=at, broker_ids=replicas) for at in range(partitions)]
    topic = ct.CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=texts
    )
    request = ct.CreateTopicsRequest(topics=(topic,))
    broker = next(iter(cluster.brokers.values()))
    response = await create_topics.handle(broker, request, call(ApiKey.CREATE_TOPICS, 7, request))
    assert [each.error_code for each in response.topics] == [0], response
    await settle()


def call(key: ApiKey, version: int, request: Any) -> Call:
    """A request as it comes to its handler."""
    header = RequestHeader(int(key), version, 1, "test")
    peer = Peer(host="127.0.0.1", port=1, listener="PLAINTEXT")
    return Call(key=key, version=version, header=header, peer=peer, request=request, request_bytes=100)


def batch_of(*values: str, now_ms: int = 1_700_000_000_000) -> bytes:
    records = [Record(offset=at, timestamp=now_ms, key=b"k", value=each.encode()) for at, each in enumerate(values)]
    return build_batch(records)


async def begin_produce(
    broker: Broker, topic: str, *values: str, acks: int = -1, timeout_ms: int = 30_000, partition: int = 0
) -> "asyncio.Task[PartitionProduceResponse | None]":
    """What the broker answers, some time; None for acks 0. The records are written when this returns."""

    async def answer() -> PartitionProduceResponse | None:
        data = PartitionProduceData(index=partition, records=memoryview(batch_of(*values)))
        request = ProduceRequest(
            acks=acks, timeout_ms=timeout_ms, topic_data=(TopicProduceData(name=topic, partition_data=(data,)),)
        )
        response = produce.handle(broker, request, call(ApiKey.PRODUCE, 11, request))
        if asyncio.iscoroutine(response):
            response = await response
        return None if response is None else response.responses[0].partition_responses[0]

    task = asyncio.get_running_loop().create_task(answer())
    await settle(3)
    return task


async def produced(broker: Broker, topic: str, *values: str, acks: int = -1) -> tuple[int, int]:
    """Error code and base offset."""
    found = await (await begin_produce(broker, topic, *values, acks=acks))
    assert found is not None
    return found.error_code, found.base_offset


async def fetched(
    broker: Broker, topic: str, offset: int = 0, *, version: int = 12, rack: str = "", partition: int = 0
) -> f.PartitionData:
    """What a consumer gets at once."""
    asked = f.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = f.FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=(f.FetchTopic(topic=topic, partitions=(asked,)),), rack_id=rack
    )
    response = fetch.handle(broker, request, call(ApiKey.FETCH, version, request))
    if asyncio.iscoroutine(response):
        response = await response
    return response.responses[0].partitions[0]


def values_in(data: Any) -> dict[int, str]:
    """Values by offset, of an answer's records or of bytes."""
    from stepdown.protocol.records.batches import iter_batches

    if hasattr(data, "read"):
        data = data.read(0, data.size_bytes)
    return {
        record.offset: (record.value or b"").decode()
        for batch in iter_batches(bytes(data or b""))
        if not batch.is_control
        for record in batch.records()
    }
