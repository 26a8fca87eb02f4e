"""What a test holds of a Kafka: where it is, and what tests ask of one, each a blocking call over the wire."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ..client.errors import KafkaError, check
from ..client.operation import TopicPartition
from ..client.operations.groups import Group, describe_groups
from ..client.operations.offsets import EARLIEST, LATEST, committed_offsets
from ..client.operations.topics import NewTopic, create_topics
from ..client.security.settings import OPEN, SecuritySettings
from ..producer.partitioners.murmur2 import partition_for_key
from ..protocol.errors import ErrorCode
from ..protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ..protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ..protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ..protocol.records.builder import build_batch
from ..protocol.records.record import Record
from ..protocol.records.visible_records import visible_records
from .clock import Clock
from .cluster import Cluster
from .control_client import ControlClient, NoControl
from .faults import Faults
from .received_requests import Requests
from .record_comparison import Expected, Header, TestRecord, as_bytes, as_text, assert_same, headers_as_bytes
from .security.client_settings import ClientSettings
from .wire_client import WireClient, by_node

T = TypeVar("T")

PAUSE_S = 0.005
TIMEOUT_MS = 30_000
ANSWER_BYTES = 32 << 20
LAST_BY_NAME = 12  # of Fetch: later versions name topics by id

Data = bytes | str | None
Headers = Mapping[str, Data] | Iterable[tuple[str, Data]]


class Kafka:
    """A running broker or cluster. `bootstrap` is what clients connect to, `clients` has whole settings for them.

    `faults` are what goes wrong on purpose, `clock` moves the brokers' time, `requests` tells what clients sent,
    `cluster` kills and moves brokers and replicas where there are several.

    Its own requests have the client id `stepdown-testing`, which no fault touches and no request log shows. Methods
    may be called from any thread. Raises: KafkaError with the broker's error code, AssertionError from `assert_…`.
    """

    def __init__(
        self,
        bootstrap: str,
        control: ControlClient | None = None,
        clients: ClientSettings | None = None,
        security: SecuritySettings = OPEN,
    ) -> None:
        self.bootstrap = bootstrap
        self.clients = clients or ClientSettings(bootstrap)
        self.wire = WireClient(bootstrap, security)
        asked = control or NoControl()
        self.faults, self.clock, self.requests = Faults(asked), Clock(asked), Requests(asked)
        self.cluster = Cluster(asked)

    def close(self) -> None:
        """Ends this object's own connections."""
        self.wire.close()

    # Topics and records

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication_factor: int = -1,
        config: Mapping[str, object] | None = None,
    ) -> None:
        """Creates a topic; -1 is the broker's `default.replication.factor`."""
        topic = NewTopic(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: as_text(value) or "" for key, value in (config or {}).items()},
        )
        (result,) = self.wire.run(create_topics([topic]))
        if result.failed:
            raise KafkaError(f"creating topic {name}", ErrorCode[result.error], result.message)

    def produce(
        self,
        topic: str,
        *values: Data,
        key: Data = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> list[TestRecord]:
        """Writes values with acks=all, all with the same key and headers, and returns them as they are stored.

        Without a partition the key's hash chooses it, and without a key it is 0. A topic that is missing is created.
        """
        leaders = self._leaders_or_new(topic)
        own = as_bytes(key)
        if partition is None:
            partition = 0 if own is None else partition_for_key(own, len(leaders))
        stamp = time.time_ns() // 1_000_000 if timestamp is None else timestamp
        given = headers_as_bytes(headers)
        records = [
            Record(offset=at, timestamp=stamp, key=own, value=as_bytes(value), headers=tuple(given))
            for at, value in enumerate(values)
        ]
        data = PartitionProduceData(index=partition, records=build_batch(records))
        request = ProduceRequest(
            acks=-1, timeout_ms=TIMEOUT_MS, topic_data=(TopicProduceData(name=topic, partition_data=(data,)),)
        )
        answer = self.wire.call(request, node=leaders[partition]).responses[0].partition_responses[0]
        check(f"writing to {topic}-{partition}", answer)
        return [_test_record(topic, partition, answer.base_offset + record.offset, record) for record in records]

    def records(
        self, topic: str, partition: int | None = None, *, isolation: str = "read_committed"
    ) -> list[TestRecord]:
        """All records that a consumer of that isolation level sees now, by partition and offset."""
        leaders = self.wire.leaders(topic)
        if partition is not None:
            leaders = {partition: leaders[partition]}
        level = {"read_uncommitted": 0, "read_committed": 1}[isolation]
        found: list[TestRecord] = []
        for node, partitions in by_node(leaders).items():
            starts = self._offsets(node, topic, partitions, EARLIEST, level)
            ends = self._offsets(node, topic, partitions, LATEST, level)
            for index in partitions:
                found += self._read(node, topic, index, starts[index], ends[index], level)
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def wait_for_records(self, topic: str, count: int, *, timeout: float = 10.0) -> list[TestRecord]:
        """The records of the topic once there are `count`. Raises: AssertionError after `timeout` seconds."""
        self._wait(lambda: len(self._records_if_any(topic)) >= count, timeout)
        found = self._records_if_any(topic)
        assert len(found) >= count, f"{topic} has {len(found)} records after {timeout} s, not {count}"
        return found

    def assert_produces(
        self, topic: str, *expected: Expected, timeout: float = 5.0, any_order: bool | None = None
    ) -> list[TestRecord]:
        """The topic holds these records and no others, after waiting `timeout` seconds for as many to come.

        A record is expected by its value, or by a dict with any of key, value, headers, partition, offset. Their order
        counts in a topic of one partition, unless `any_order` says otherwise.
        """
        self._wait(lambda: len(self._records_if_any(topic)) >= len(expected), timeout)
        found = self._records_if_any(topic)
        if any_order is None:
            any_order = len(self.wire.leaders(topic)) > 1 if found else False
        assert_same(expected, found, any_order=any_order)
        return found

    # Groups

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The offsets that a group has committed."""
        return self.wire.run(committed_offsets(group))

    def group(self, name: str) -> Group:
        """The group with its members, of the classic or the consumer protocol."""
        (found,) = self.wire.run(describe_groups([name]))
        if found.error and found.error != ErrorCode.GROUP_ID_NOT_FOUND.name:
            raise KafkaError(f"group {name}", ErrorCode[found.error])
        return found

    def wait_for_group(
        self, name: str, state: str = "Stable", *, members: int | None = None, timeout: float = 10.0
    ) -> Group:
        """The group once it is in that state with `members` members. Raises: AssertionError after `timeout` seconds."""

        def is_there() -> bool:
            found = self.group(name)
            return found.state == state and members in (None, len(found.members))

        self._wait(is_there, timeout)
        found = self.group(name)
        wanted = state if members is None else f"{state} with {members} members"
        assert found.state == state and members in (None, len(found.members)), (
            f"group {name} is {found.state} with {len(found.members)} members after {timeout} s, not {wanted}"
        )
        return found

    # Ways

    def _leaders_or_new(self, topic: str) -> dict[int, int]:
        try:
            return self.wire.leaders(topic)
        except Exception as fault:
            if getattr(fault, "code", "") != "UNKNOWN_TOPIC_OR_PARTITION":
                raise
        self.create_topic(topic)
        return self.wire.leaders(topic)

    def _records_if_any(self, topic: str) -> list[TestRecord]:
        try:
            return self.records(topic)
        except Exception as fault:
            if getattr(fault, "code", "") != "UNKNOWN_TOPIC_OR_PARTITION":
                raise
            return []

    def _offsets(self, node: int, topic: str, partitions: Sequence[int], timestamp: int, level: int) -> dict[int, int]:
        asked = tuple(ListOffsetsPartition(partition_index=each, timestamp=timestamp) for each in partitions)
        request = ListOffsetsRequest(
            replica_id=-1, isolation_level=level, topics=(ListOffsetsTopic(name=topic, partitions=asked),)
        )
        (answer,) = self.wire.call(request, node=node).topics
        for each in answer.partitions:
            check(f"offsets of {topic}-{each.partition_index}", each)
        return {each.partition_index: each.offset for each in answer.partitions}

    def _read(self, node: int, topic: str, partition: int, start: int, end: int, level: int) -> list[TestRecord]:
        found: list[TestRecord] = []
        while start < end:
            asked = FetchPartition(partition=partition, fetch_offset=start, partition_max_bytes=ANSWER_BYTES)
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=ANSWER_BYTES,
                isolation_level=level,
                topics=(FetchTopic(topic=topic, partitions=(asked,)),),
            )
            data = self.wire.call(request, LAST_BY_NAME, node=node).responses[0].partitions[0]
            check(f"reading {topic}-{partition} at {start}", data)
            seen = list(visible_records(memoryview(data.records or b""), start, data.aborted_transactions or ()))
            found += [_test_record(topic, partition, record.offset, record) for _, record in seen if record is not None]
            if not seen:
                break
            start = seen[-1][0]
        return found

    def _wait(self, is_there: Callable[[], bool], timeout: float) -> None:
        """Returns when `is_there`, or after `timeout` seconds."""
        last = time.monotonic() + timeout
        while not is_there() and time.monotonic() < last:
            time.sleep(PAUSE_S)


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
