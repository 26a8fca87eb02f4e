"""Topics on the server under load, and the records in them, written through Produce as a client would.

Records are many batches of about 16 kB, as a producer with its defaults sends them; timestamps are near now, or the
server's retention deletes what is read. `values.py` has the kinds of data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from time import time_ns

from ...protocol.errors import ErrorCode
from ...protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ...protocol.messages.delete_topics import DeleteTopicsRequest
from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.builder import build_batch
from ...protocol.records.layout import Codec
from ...protocol.records.record import Record
from ..failures import BenchFailed
from ..servers.process import wait_until
from .admin_connection import Connection, frame_of
from .plan import Asking, ConnectionLoad, LoadPlan
from .process import LoadProcess
from .values import Data, values

CREATE_VERSION, DELETE_VERSION, LIST_VERSION = 2, 1, 1
PRODUCE_VERSION = {0: 1, 1: 2, 2: 3}
"""Magic to the newest Produce version that Kafka 1.1 and 3.9 both take it in."""
ZSTD_VERSION = 7
BATCH_BYTES = 16_000
USUAL_LARGEST_BATCH = 1_048_588
TIMEOUT_MS = 60_000
FILL_IN_FLIGHT = 5
LATEST = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What a topic holds: `partition_bytes` of values in each partition, in batches of about `batch_bytes`."""

    partitions: int
    partition_bytes: int
    record_bytes: int
    codec: Codec = Codec.NONE
    batch_bytes: int = BATCH_BYTES
    magic: int = 2
    data: Data = Data.LETTERS

    @property
    def produce_version(self) -> int:
        return ZSTD_VERSION if self.codec is Codec.ZSTD else PRODUCE_VERSION[self.magic]

    @property
    def records_a_batch(self) -> int:
        return max(1, self.batch_bytes // self.record_bytes)

    @property
    def batches(self) -> int:
        """Batches a partition."""
        return max(1, -(-self.partition_bytes // (self.records_a_batch * self.record_bytes)))

    @property
    def records(self) -> int:
        """Records a partition."""
        return self.batches * self.records_a_batch


def largest_batch(opened_bytes: int) -> int:
    """The `max.message.bytes` of a topic for batches of `opened_bytes`."""
    return max(USUAL_LARGEST_BATCH, 2 * opened_bytes)


def create_topic(address: str, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
    """Returns when each partition has a leader that answers."""
    pairs = tuple(CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=pairs)
    with Connection(address) as connection:
        answer = connection.call(CreateTopicsRequest(topics=(topic,), timeout_ms=TIMEOUT_MS), CREATE_VERSION)
        for created in answer.topics:
            _check(created.error_code, f"CreateTopics {name}")
    await_leaders(address, name, partitions)


def await_leaders(address: str, name: str, partitions: int) -> None:
    """Returns when each partition has a leader that answers."""
    with Connection(address) as connection:
        wait_until(lambda: _has_leaders(connection, name, partitions), f"{name} has leaders", timeout_s=60)


def delete_topic(address: str, name: str, *, may_be_missing: bool = False) -> None:
    """Returns when the topic is gone."""
    with Connection(address) as connection:
        answer = connection.call(DeleteTopicsRequest(topic_names=(name,), timeout_ms=TIMEOUT_MS), DELETE_VERSION)
        for deleted in answer.responses:
            if deleted.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and may_be_missing:
                continue
            _check(deleted.error_code, f"DeleteTopics {name}")


def fill(address: str, name: str, filling: Filling, load: LoadProcess) -> None:
    """Creates a topic that takes its batches, anew if it is there, and writes its records."""
    delete_topic(address, name, may_be_missing=True)
    create_topic(address, name, filling.partitions, {"max.message.bytes": str(largest_batch(filling.batch_bytes))})
    write_records(address, name, filling, load)


def write_records(address: str, name: str, filling: Filling, load: LoadProcess) -> None:
    """Writes the records of a topic that is there."""
    requests = tuple(produce_frame(name, (partition,), filling) for partition in range(filling.partitions))
    connection = ConnectionLoad(
        requests=requests, in_flight=FILL_IN_FLIGHT, error_at=produce_error_at(name, filling.magic)
    )
    wanted = filling.batches * filling.partitions
    asking = Asking(kind="produce", client=f"produce-v{filling.produce_version}", partitions=1)
    result = load.run(LoadPlan(address=address, connections=(connection,), asking=asking, responses=wanted))
    if result.errors or result.responses != wanted:
        raise BenchFailed(f"{result.errors} of {wanted} produce requests to {name} at {address} were refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How a client writes: a batch for each of `request_partitions` in a request."""

    acks: int = 1
    connections: int = 8
    in_flight: int = 5
    pace_s: float = 0.0
    request_partitions: int = 1

    def loads(self, topic: str, filling: Filling) -> tuple[ConnectionLoad, ...]:
        """Each connection writes to all partitions in turn, and none begins where another does."""
        count = filling.partitions
        frames = [
            produce_frame(
                topic, tuple((first + more) % count for more in range(self.request_partitions)), filling, self.acks
            )
            for first in range(count)
        ]
        return tuple(
            ConnectionLoad(
                requests=tuple(frames[index % count :] + frames[: index % count]),
                in_flight=self.in_flight,
                error_at=produce_error_at(topic, filling.magic),
                pace_s=self.pace_s,
            )
            for index in range(self.connections)
        )

    def plan(self, address: str, topic: str, filling: Filling, seconds: float) -> LoadPlan:
        """Writes for so long."""
        client = f"produce-v{filling.produce_version}"
        asking = Asking(kind="produce", client=client, partitions=self.request_partitions)
        return LoadPlan(address=address, connections=self.loads(topic, filling), asking=asking, seconds=seconds)


def produce_frame(topic: str, partitions: Sequence[int], filling: Filling, acks: int = 1) -> bytes:
    """A Produce request with one batch for each of the partitions."""
    batch = batch_of(filling)
    written = tuple(PartitionProduceData(index=index, records=batch) for index in partitions)
    data = TopicProduceData(name=topic, partition_data=written)
    request = ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=(data,))
    return frame_of(request, filling.produce_version)


def produce_error_at(topic: str, magic: int) -> int:
    """Where the error code of the first partition stands in a Produce response, counted from its size field.

    size 4 | correlation id 4 | topics 4 | name length 2, name | partitions 4 | index 4 | error 2
    """
    return 4 + 4 + 4 + 2 + len(topic.encode()) + 4 + 4


@cache
def batch_of(filling: Filling) -> bytes:
    """One batch; the same bytes for every partition, so a server cannot gain by it and we need not wait for it."""
    now_ms = time_ns() // 1_000_000
    made = values(filling.data, filling.record_bytes)
    records = [
        Record(offset=index, timestamp=now_ms, key=None, value=value)
        for index, value in zip(range(filling.records_a_batch), made, strict=False)
    ]
    return bytes(build_batch(records, magic=filling.magic, codec=filling.codec))


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
    """The size of the response, once every partition has answered with records. Raises: BenchFailed."""
    with Connection(address) as connection:
        answer = connection.call(request, version)
        size = connection.answer_bytes
    for topic in answer.responses:
        for partition in topic.partitions:
            _check(partition.error_code, f"Fetch v{version} of {topic.topic}-{partition.partition_index}")
            if not partition.records:
                raise BenchFailed(f"Fetch v{version} of {topic.topic}-{partition.partition_index} brings no records")
    return size


def _has_leaders(connection: Connection, name: str, partitions: int) -> bool:
    asked = tuple(ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partitions))
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=name, partitions=asked),))
    answer = connection.call(request, LIST_VERSION)
    return all(partition.error_code == 0 for topic in answer.topics for partition in topic.partitions)


def _check(code: int, what: str) -> None:
    if code:
        raise BenchFailed(f"{what}: {ErrorCode(code).name}")
