"""Produce and Fetch requests of the load: the records that fill a topic, how a client writes, what it fetches.

Records are many batches of about 16 kB, as a producer with its defaults sends them, and not the same one again and
again: a processor soon predicts each branch that a codec takes in that, which makes it up to three times as fast.
Timestamps are near now, or the server's retention deletes what is read. `values.py` has the kinds of data.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from time import time_ns

from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.builder import build_batch
from ...protocol.records.layout import Codec
from ...protocol.records.record import Record
from ..failures import BenchFailure
from ..servers.admin_connection import REQUEST_TIMEOUT_MS, Connection, check_error, frame_of
from .load_plan import Asking, ConnectionRequests, LoadPlan
from .values import ValueKind, make_values

PRODUCE_VERSION = {0: 1, 1: 2, 2: 3}
"""By magic: the newest Produce version in which both Kafka 1.1 and 3.9 accept it."""
ZSTD_VERSION = 7
BATCH_BYTES = 16_000
DIFFERENT_BYTES = 2 << 20
"""Bytes that are sent before a batch comes again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What a topic holds: `partition_bytes` of values in each partition, in batches of about `batch_bytes`."""

    partitions: int
    partition_bytes: int
    record_bytes: int
    codec: Codec = Codec.NONE
    batch_bytes: int = BATCH_BYTES
    magic: int = 2
    data: ValueKind = ValueKind.LETTERS

    @property
    def produce_version(self) -> int:
        return ZSTD_VERSION if self.codec is Codec.ZSTD else PRODUCE_VERSION[self.magic]

    @property
    def records_a_batch(self) -> int:
        return max(1, self.batch_bytes // self.record_bytes)

    @property
    def different_batches(self) -> int:
        return max(1, DIFFERENT_BYTES // (self.records_a_batch * self.record_bytes))

    @property
    def batches(self) -> int:
        """Batches a partition."""
        return max(1, -(-self.partition_bytes // (self.records_a_batch * self.record_bytes)))

    @property
    def records(self) -> int:
        """Records a partition."""
        return self.batches * self.records_a_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequests:
    """How a client writes: a batch for each of `request_partitions` in a request."""

    acks: int = 1
    connections: int = 8
    in_flight: int = 5
    pace_s: float = 0.0
    request_partitions: int = 1

    def connection_requests(self, topic: str, filling: Filling) -> tuple[ConnectionRequests, ...]:
        """Each connection writes to all partitions in turn, and none begins where another does."""
        rounds = -(-filling.different_batches // filling.partitions)
        frames = produce_frames(topic, filling, rounds, self.acks, self.request_partitions)
        starts = [index % len(frames) for index in range(self.connections)]
        return tuple(
            ConnectionRequests(
                requests=tuple(frames[start:] + frames[:start]),
                in_flight=self.in_flight,
                error_at=produce_error_at(topic),
                pace_s=self.pace_s,
            )
            for start in starts
        )

    def plan(self, address: str, topic: str, filling: Filling, seconds: float) -> LoadPlan:
        """The plan of writing for `seconds`."""
        client = f"produce-v{filling.produce_version}"
        asking = Asking(kind="produce", client=client, partitions=self.request_partitions)
        return LoadPlan(
            address=address, connections=self.connection_requests(topic, filling), asking=asking, seconds=seconds
        )


def produce_frames(
    topic: str, filling: Filling, rounds: int, acks: int = 1, request_partitions: int = 1
) -> list[bytes]:
    """Produce requests to all partitions in turn, `rounds` times, with the next batch for each partition."""
    count = filling.partitions
    batches = cycle(batches_of(filling, min(count * rounds * request_partitions, filling.different_batches)))
    return [
        _produce_frame(topic, [(first + more) % count for more in range(request_partitions)], batches, filling, acks)
        for first in range(count * rounds)
    ]


def _produce_frame(topic: str, indexes: Iterable[int], batches: Iterator[bytes], filling: Filling, acks: int) -> bytes:
    written = tuple(PartitionProduceData(index=index, records=next(batches)) for index in indexes)
    data = TopicProduceData(name=topic, partition_data=written)
    request = ProduceRequest(acks=acks, timeout_ms=REQUEST_TIMEOUT_MS, topic_data=(data,))
    return frame_of(request, filling.produce_version)


def produce_error_at(topic: str) -> int:
    """Where the error code of the first partition stands in a Produce response, counted from its size field.

    size 4 | correlation id 4 | topics 4 | name length 2, name | partitions 4 | index 4 | error 2
    """
    return 4 + 4 + 4 + 2 + len(topic.encode()) + 4 + 4


@cache
def batches_of(filling: Filling, number: int) -> tuple[bytes, ...]:
    """Batches of different values, one after the other."""
    now_ms = time_ns() // 1_000_000
    made = make_values(filling.data, filling.record_bytes)
    return tuple(
        build_batch(
            [
                Record(offset=at, timestamp=now_ms, key=None, value=value)
                for at, value in enumerate(islice(made, filling.records_a_batch))
            ],
            magic=filling.magic,
            codec=filling.codec,
        )
        for _ in range(number)
    )


def fetch_request(partitions: Mapping[str, int], *, partition_bytes: int, most_bytes: int) -> FetchRequest:
    """A fetch from offset 0 of each partition, by topic, that is answered at once."""
    topics = tuple(
        FetchTopic(
            topic=name,
            partitions=tuple(
                FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=partition_bytes)
                for index in range(count)
            ),
        )
        for name, count in partitions.items()
    )
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=most_bytes, topics=topics)


def check_fetch(address: str, request: FetchRequest, version: int) -> int:
    """The size of the response, once every partition has answered with records. Raises: BenchFailure."""
    with Connection(address) as connection:
        answer = connection.call(request, version)
        size = connection.answer_bytes
    for topic in answer.responses:
        for partition in topic.partitions:
            check_error(partition.error_code, f"Fetch v{version} of {topic.topic}-{partition.partition_index}")
            if not partition.records:
                raise BenchFailure(f"Fetch v{version} of {topic.topic}-{partition.partition_index} brings no records")
    return size
