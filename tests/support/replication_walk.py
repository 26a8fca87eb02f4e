"""The same steps against a cluster of three, ours or Kafka's: followers go one after the other, and come back.

The three scenarios of the blog that everyone reads about acks and min.insync.replicas: all replicas in sync, one
follower down, two down; then what failover leaves. Each step notes what a client is told.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from stepdown.protocol.messages import create_topics as ct
from stepdown.protocol.messages import delete_records as dr
from stepdown.protocol.messages import fetch as f
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import metadata as md
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

from .brokers import batch_of, values_in
from .client import RawClient
from .deadline import DEADLINE_S

SETTINGS = {
    "broker.session.timeout.ms": "6000",
    "auto.leader.rebalance.enable": "false",
    "log.retention.ms": "-1",
    "replica.lag.time.max.ms": "60000",
}
"""Dead brokers are fenced soon; nobody leaves an ISR because the machine is busy."""

# Topic: its replicas, and its config.
TOPICS: Mapping[str, tuple[tuple[int, ...], dict[str, str]]] = {
    "min-1": ((1, 2, 3), {"min.insync.replicas": "1"}),
    "min-2": ((1, 2, 3), {"min.insync.replicas": "2"}),
    "min-3": ((1, 2, 3), {"min.insync.replicas": "3"}),
    "moved": ((2, 1, 3), {"min.insync.replicas": "1"}),
    "clean": ((2, 3), {"min.insync.replicas": "1"}),
    "unclean": ((2, 3), {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}),
}
STAYING = ("min-1", "min-2", "min-3")
LEAVING = ("moved", "clean", "unclean")
DEBUGGER, CONSUMER, LATEST = -2, -1, -1
SOON_MS = 300


class Side(Protocol):
    """A cluster of brokers 1 to 3 that runs."""

    def address(self, node_id: int) -> str: ...
    async def kill(self, node_id: int) -> None: ...
    async def start(self, node_id: int) -> None: ...


class Walk:
    """`told`: what clients were told, by step."""

    def __init__(self, side: Side) -> None:
        self.told: dict[str, Any] = {}
        self._side = side
        self._written = 0

    async def go(self) -> dict[str, Any]:
        await self._create()
        await self._all_in_sync()
        await self._one_down()
        await self._two_down()
        await self._one_back()
        await self._all_back()
        return self.told

    async def _all_in_sync(self) -> None:
        await self._isr(STAYING, (1, 2, 3), at=1)
        await self._isr(LEAVING[1:], (2, 3), at=1)
        await self._served(STAYING, at=1)
        await self._served(LEAVING, at=2)
        await self._write("all in sync", STAYING)
        await self._write("all in sync", LEAVING, leader=2)
        await self._ask_a_follower()

    async def _one_down(self) -> None:
        await self._side.kill(3)
        await self._produce("3 has just gone", STAYING, acks=-1, timeout_ms=SOON_MS)
        await self._isr(STAYING, (1, 2), at=1)
        await self._isr(LEAVING[1:], (2,), at=1)
        await self._see("3 is down", STAYING)
        await self._write("3 is down", STAYING)
        await self._write("3 is down", LEAVING, leader=2)

    async def _two_down(self) -> None:
        await self._side.kill(2)
        await self._produce("2 has just gone", STAYING, acks=-1, timeout_ms=SOON_MS)
        await self._isr(STAYING, (1,), at=1)
        await self._leader(("moved",), 1, at=1)
        await self._served(("moved",), at=1)
        await self._leader(("clean", "unclean"), -1, at=1)
        await self._see("2 and 3 are down", (*STAYING, "moved"))
        await self._write("2 and 3 are down", (*STAYING, "moved"))

    async def _one_back(self) -> None:
        await self._side.start(3)
        await self._isr((*STAYING, "moved"), (1, 3), at=1)
        await self._leader(("unclean",), 3, at=3)
        await self._served(("unclean",), at=3)
        await self._leader(("clean",), -1, at=3)
        await self._see("3 is back", (*STAYING, "moved"))
        await self._see("3 is back", ("unclean",), leader=3)
        await self._write("3 is back", ("unclean",), leader=3)
        await self._produce("3 is back", ("clean",), leader=3, acks=1)

    async def _all_back(self) -> None:
        await self._side.start(2)
        await self._isr((*STAYING, "moved"), (1, 2, 3), at=1)
        await self._leader(("clean",), 2, at=2)
        await self._served(("clean",), at=2)
        await self._isr(("clean", "unclean"), (2, 3), at=2)
        await self._see("all are back", (*STAYING, "moved"))
        await self._see("all are back", ("clean",), leader=2)
        await self._see("all are back", ("unclean",), leader=3)
        await self._write("all are back", STAYING)
        await self._write("all are back", ("unclean",), leader=3)

    # Steps

    async def _create(self) -> None:
        topics = [
            ct.CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=(ct.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas),),
                configs=[ct.CreatableTopicConfig(name=key, value=text) for key, text in configs.items()],
            )
            for name, (replicas, configs) in TOPICS.items()
        ]
        response = await self._ask(1, ct.CreateTopicsRequest(topics=topics), 5)
        assert [each.error_code for each in response.topics] == [0] * len(TOPICS), response

    async def _write(self, when: str, topics: Sequence[str], *, leader: int = 1) -> None:
        """A record by each of acks 1, all, 0 to each topic; then what is seen of them."""
        await self._produce(when, topics, leader=leader, acks=1)
        await self._produce(when, topics, leader=leader, acks=-1)
        await self._produce(when, topics, leader=leader, acks=0)
        await self._see(when, topics, leader=leader, step="seen then")

    async def _produce(
        self, when: str, topics: Sequence[str], *, acks: int, leader: int = 1, timeout_ms: int = 30_000
    ) -> None:
        """Notes error code and base offset by topic; for acks 0 that no answer comes before that of another request."""
        self._written += 1
        value = f"v{self._written}"
        data = [
            TopicProduceData(
                name=topic, partition_data=(PartitionProduceData(index=0, records=memoryview(batch_of(value))),)
            )
            for topic in topics
        ]
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=data)
        step = f"{when}: {value} with acks={acks} to {topics} at {leader}"
        async with await self._connected(leader) as client:
            if acks == 0:
                await client.begin(request, 9)
                await client.send(md.MetadataRequest(topics=()), 1)
                self.told[step] = "no answer"
            else:
                response = await client.send(request, 9)
                self.told[step] = sorted(
                    (topic.name, each.error_code, each.base_offset)
                    for topic in response.responses
                    for each in topic.partition_responses
                )

    async def _see(self, when: str, topics: Sequence[str], *, leader: int = 1, step: str = "seen") -> None:
        """Notes values by offset, high watermark and log end once the high watermark stands where it will."""
        for topic in topics:
            least = int(TOPICS[topic][1]["min.insync.replicas"])
            place = await self._metadata(topic, at=leader)

            async def seen(topic: str = topic) -> tuple[int, int, int, dict[int, str]]:
                data = await self._fetch(leader, topic, 11)
                end = await self._end(leader, topic, DEBUGGER)
                return data.error_code, data.high_watermark, end, values_in(data.records)

            found = await seen()
            async with asyncio.timeout(DEADLINE_S):
                while len(place.isr_nodes) >= least and found[1] != found[2]:
                    await asyncio.sleep(0.05)
                    found = await seen()
            epoch = place.leader_epoch, place.leader_id, sorted(place.isr_nodes)
            self.told[f"{when}: {step} of {topic}"] = (*found, epoch)

    async def _ask_a_follower(self) -> None:
        """What only the leader answers, and what a follower does."""
        data = (PartitionProduceData(index=0, records=memoryview(batch_of("refused"))),)
        topic_data = (TopicProduceData(name="min-2", partition_data=data),)
        response = await self._ask(3, ProduceRequest(acks=-1, timeout_ms=SOON_MS, topic_data=topic_data), 9)
        refused = response.responses[0].partition_responses[0]
        self.told["a follower is written to"] = refused.error_code, refused.base_offset
        async with await self._connected(3) as client:
            await client.begin(ProduceRequest(acks=0, timeout_ms=SOON_MS, topic_data=topic_data), 9)
            self.told["a follower is written to with acks=0"] = await client.read_frame()
        for version in (10, 11, 12):
            error_code = (await self._fetch(3, "min-2", version)).error_code
            self.told[f"a follower is read, Fetch v{version}"] = error_code
        self.told["a follower is asked for its end"] = await self._end(3, "min-2", CONSUMER)
        deletion = dr.DeleteRecordsTopic(
            name="min-2", partitions=(dr.DeleteRecordsPartition(partition_index=0, offset=1),)
        )
        for node_id in (3, 1):
            response = await self._ask(node_id, dr.DeleteRecordsRequest(topics=(deletion,), timeout_ms=5000), 1)
            (gone,) = response.topics[0].partitions
            self.told[f"records are deleted at {node_id}"] = gone.error_code, gone.low_watermark

    # Waiting for the cluster

    async def _isr(self, topics: Sequence[str], isr: tuple[int, ...], *, at: int) -> None:
        for topic in topics:
            await self._until(topic, at, lambda place: place.leader_id >= 0 and sorted(place.isr_nodes) == list(isr))

    async def _leader(self, topics: Sequence[str], leader: int, *, at: int) -> None:
        for topic in topics:
            await self._until(topic, at, lambda place: place.leader_id == leader)

    async def _served(self, topics: Sequence[str], *, at: int) -> None:
        """A broker tells of its leadership a moment before it has begun."""
        for topic in topics:
            async with asyncio.timeout(DEADLINE_S):
                while True:
                    if await self._end(at, topic, CONSUMER) >= 0:
                        break
                    await asyncio.sleep(0.05)

    async def _until(self, topic: str, at: int, holds: Any) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                with suppress(OSError):
                    place = await self._metadata(topic, at=at)
                    if place is not None and holds(place):
                        return
                await asyncio.sleep(0.05)

    # Requests

    async def _connected(self, node_id: int) -> RawClient:
        host, _, port = self._side.address(node_id).rpartition(":")
        return await RawClient.connect(host, int(port))

    async def _ask(self, node_id: int, request: Any, version: int) -> Any:
        async with await self._connected(node_id) as client:
            return await client.send(request, version)

    async def _metadata(self, topic: str, *, at: int) -> Any:
        request = md.MetadataRequest(topics=(md.MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)
        partitions = (await self._ask(at, request, 7)).topics[0].partitions
        return partitions[0] if partitions else None

    async def _fetch(self, node_id: int, topic: str, version: int) -> f.PartitionData:
        asked = f.FetchPartition(
            partition=0, fetch_offset=int(topic == "min-2"), partition_max_bytes=1 << 20
        )  # the first record of min-2 is deleted
        topics = (f.FetchTopic(topic=topic, partitions=(asked,)),)
        response = await self._ask(node_id, f.FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics), version)
        found: f.PartitionData = response.responses[0].partitions[0]
        return found

    async def _end(self, node_id: int, topic: str, replica_id: int) -> int:
        """The offset; the error code below 0 for a failure."""
        asked = lo.ListOffsetsPartition(partition_index=0, timestamp=LATEST)
        topics = (lo.ListOffsetsTopic(name=topic, partitions=(asked,)),)
        response = await self._ask(node_id, lo.ListOffsetsRequest(replica_id=replica_id, topics=topics), 5)
        found = response.topics[0].partitions[0]
        return -found.error_code if found.error_code else int(found.offset)
