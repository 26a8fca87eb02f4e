"""A producer that remembers what was acknowledged, so that a test can ask for it after the broker was killed."""

import asyncio
from random import Random

from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record

from .client import RawClient

PRODUCE_VERSION = 7
FETCH_VERSION = 10


class Acknowledged:
    """What a topic has promised to keep: value by (partition, offset)."""

    def __init__(self, topic: str, partitions: int, seed: int) -> None:
        self.topic = topic
        self.partitions = partitions
        self.promised: dict[tuple[int, int], bytes] = {}
        self._random = Random(seed)
        self._serial = 0

    async def produce_until_it_breaks(self, address: str, enough: asyncio.Event, count: int) -> None:
        """Writes batch after batch until the broker is gone; sets `enough` after `count` answers."""
        host, port = address.rsplit(":", 1)
        client = await RawClient.connect(host, int(port))
        try:
            for done in range(1 << 30):
                await self._produce_one(client)
                if done == count:
                    enough.set()
        except OSError:
            return
        finally:
            enough.set()

    async def _produce_one(self, client: RawClient) -> None:
        index = self._random.randrange(self.partitions)
        values = [self._value() for _ in range(self._random.randint(1, 20))]
        codec = self._random.choice((Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD))
        batch = build_batch([_record(at, value) for at, value in enumerate(values)], codec=codec)
        data = PartitionProduceData(index=index, records=memoryview(batch))
        topic = TopicProduceData(name=self.topic, partition_data=(data,))
        request = ProduceRequest(acks=self._random.choice((1, -1)), timeout_ms=5000, topic_data=(topic,))
        answer = (await client.send(request, PRODUCE_VERSION)).responses[0].partition_responses[0]
        if answer.error_code:
            raise ConnectionAbortedError(f"refused with {answer.error_code}")  # the broker's log says why
        for at, value in enumerate(values):
            self.promised[index, answer.base_offset + at] = value

    def _value(self) -> bytes:
        self._serial += 1
        return b"%d:" % self._serial + b"x" * self._random.randrange(300)

    async def missing(self, address: str) -> list[tuple[int, int]]:
        """The promised records that the broker does not have, or has otherwise."""
        host, port = address.rsplit(":", 1)
        client = await RawClient.connect(host, int(port))
        found: dict[tuple[int, int], bytes] = {}
        for index in range(self.partitions):
            async for offset, value in self._read(client, index):
                found[index, offset] = value
        return [place for place, value in self.promised.items() if found.get(place) != value]

    async def _read(self, client: RawClient, index: int):  # type: ignore[no-untyped-def]
        offset = 0
        while True:
            wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
            topic = FetchTopic(topic=self.topic, partitions=(wanted,))
            response = await client.send(FetchRequest(max_bytes=1 << 24, topics=(topic,)), FETCH_VERSION)
            answer = response.responses[0].partitions[0]
            assert answer.error_code == 0, answer
            batches = list(iter_batches(memoryview(answer.records or b"")))
            if not batches:
                return
            for batch in batches:
                for record in batch.records():
                    yield record.offset, bytes(record.value or b"")
                offset = batch.last_offset + 1


def _record(offset: int, value: bytes) -> Record:
    return Record(offset=offset, timestamp=1_000 + offset, key=None, value=value)
