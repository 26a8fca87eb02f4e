"""Writes and reads records of a topic for a test, at the leaders of its partitions."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from ...client.clock import SystemClock
from ...client.errors import ClientError, KafkaError, Unreachable, raise_if_error
from ...client.operations.offsets import EARLIEST, LATEST
from ...protocol.errors import ErrorCode
from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.builder import build_batch
from ...protocol.records.record import Record
from ...protocol.records.visible_records import visible_records
from ..record_comparison import Header, TestRecord
from .waiting import PAUSE_MS
from .wire_client import WireClient, partitions_by_leader

T = TypeVar("T")

ANSWER_BYTES = 32 << 20
READ_UNCOMMITTED = 0
MOVED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
"""Error codes after which nothing was written or read, and the leader has to be looked up again."""
LAST_BY_NAME = 12  # of Fetch: later versions name topics by id


class WireRecords:
    """Writes and reads; methods wait up to `timeout` seconds for a missing leader. Raises: KafkaError, Unreachable."""

    def __init__(self, wire: WireClient) -> None:
        self._wire = wire

    async def write(self, topic: str, partition: int, records: Sequence[Record], timeout: float) -> list[TestRecord]:
        """Writes records, whose offsets count from 0, with acks=all. Returns them as stored."""
        data = PartitionProduceData(index=partition, records=build_batch(records))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=max(1, round(timeout * 1000)),
            topic_data=(TopicProduceData(name=topic, partition_data=(data,)),),
        )

        async def write(leaders: Mapping[int, int]) -> int:
            answer = (await self._wire.call(request, node=leaders[partition])).responses[0].partition_responses[0]
            raise_if_error(f"writing to {topic}-{partition}", answer)
            return int(answer.base_offset)

        first = await self._run_at_leaders(topic, (partition,), write, timeout)
        return [_test_record(topic, partition, first + record.offset, record) for record in records]

    async def read(self, topic: str, partitions: Sequence[int], isolation: int, timeout: float) -> list[TestRecord]:
        """Returns all records that a consumer of that isolation level can read now, sorted by partition and offset."""

        async def read(leaders: Mapping[int, int]) -> list[TestRecord]:
            found: list[TestRecord] = []
            for node, own in partitions_by_leader(leaders).items():
                starts = await self.list_offsets(node, topic, own, EARLIEST, isolation)
                ends = await self.list_offsets(node, topic, own, LATEST, isolation)
                for index in own:
                    found += await self._read_partition(node, topic, index, (starts[index], ends[index]), isolation)
            return found

        found = await self._run_at_leaders(topic, partitions, read, timeout)
        return sorted(found, key=lambda record: (record.partition, record.offset))

    async def read_high_watermarks(self, topic: str, timeout: float) -> dict[int, int]:
        """Returns the high watermark of each partition."""

        async def read(leaders: Mapping[int, int]) -> dict[int, int]:
            found: dict[int, int] = {}
            for node, own in partitions_by_leader(leaders).items():
                found |= await self.list_offsets(node, topic, own, LATEST)
            return found

        return await self._run_at_leaders(topic, list(await self._wire.leaders(topic)), read, timeout)

    async def list_offsets(
        self, node: int, topic: str, partitions: Sequence[int], timestamp: int, isolation: int = READ_UNCOMMITTED
    ) -> dict[int, int]:
        """Returns the offset of each partition for `timestamp`, from `node`, which must lead them all."""
        asked = tuple(ListOffsetsPartition(partition_index=each, timestamp=timestamp) for each in partitions)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=isolation, topics=(ListOffsetsTopic(name=topic, partitions=asked),)
        )
        (answer,) = (await self._wire.call(request, node=node)).topics
        for each in answer.partitions:
            raise_if_error(f"offsets of {topic}-{each.partition_index}", each)
        return {each.partition_index: each.offset for each in answer.partitions}

    async def _run_at_leaders(
        self, topic: str, partitions: Sequence[int], act: Callable[[Mapping[int, int]], Awaitable[T]], timeout: float
    ) -> T:
        """Returns what `act` makes of the leaders; tries again while one is missing, unreachable or deposed."""
        last = time.monotonic() + timeout
        while True:
            try:
                leaders = await self._wire.leaders(topic)
                for each in partitions:
                    if leaders[each] < 0:
                        raise KafkaError(f"{topic}-{each} has no leader", ErrorCode.LEADER_NOT_AVAILABLE)
                return await act({each: leaders[each] for each in partitions})
            except ClientError as fault:
                has_moved = isinstance(fault, Unreachable) or fault.error_code in MOVED
                if not has_moved or time.monotonic() >= last:
                    raise
            await SystemClock().sleep(PAUSE_MS)

    async def _read_partition(
        self, node: int, topic: str, partition: int, bounds: tuple[int, int], isolation: int
    ) -> list[TestRecord]:
        found: list[TestRecord] = []
        start, end = bounds
        while start < end:
            asked = FetchPartition(partition=partition, fetch_offset=start, partition_max_bytes=ANSWER_BYTES)
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=ANSWER_BYTES,
                isolation_level=isolation,
                topics=(FetchTopic(topic=topic, partitions=(asked,)),),
            )
            data = (await self._wire.call(request, LAST_BY_NAME, node=node)).responses[0].partitions[0]
            raise_if_error(f"reading {topic}-{partition} at {start}", data)
            seen = list(visible_records(memoryview(data.records or b""), start, data.aborted_transactions or ()))
            found += [_test_record(topic, partition, record.offset, record) for _, record in seen if record is not None]
            if not seen:
                break
            start = seen[-1][0]
        return found


def _test_record(topic: str, partition: int, offset: int, record: Record) -> TestRecord:
    return TestRecord(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp=record.timestamp,
        key=None if record.key is None else bytes(record.key),
        value=None if record.value is None else bytes(record.value),
        headers=tuple(_header(name, value) for name, value in record.headers),
    )


def _header(name: str, value: bytes | memoryview | None) -> Header:
    return name, None if value is None else bytes(value)
