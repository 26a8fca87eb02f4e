"""What a test holds of a Kafka: where it is, and what tests ask of one, each a blocking call over the wire."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ..client.errors import ClientError, KafkaError, Unreachable, check
from ..client.operation import TopicPartition
from ..client.operations.groups import Group, delete_groups, describe_groups
from ..client.operations.offsets import EARLIEST, LATEST, committed_offsets
from ..client.operations.topics import NewTopic, create_topics, delete_topics, describe_topics
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
from .partition import Partition, partition_of
from .received_requests import Requests
from .record_comparison import Expected, Header, TestRecord, as_bytes, as_text, assert_same, headers_as_bytes
from .security.client_settings import ClientSettings
from .wire_client import WireClient, by_node

T = TypeVar("T")

PAUSE_S = 0.005
TIMEOUT_S = 10.0
ANSWER_BYTES = 32 << 20
LEVELS = {"read_uncommitted": 0, "read_committed": 1}
MOVED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
"""Nothing was written or read, and the next leader is to be asked."""
STATES = ("Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
LAST_BY_NAME = 12  # of Fetch: later versions name topics by id

Data = bytes | str | None
Headers = Mapping[str, Data] | Iterable[tuple[str, Data]]


class Kafka:
    """A running broker or cluster. `bootstrap` is what clients connect to, `clients` has whole settings for them.

    `faults` are what goes wrong on purpose, `clock` moves the brokers' time, `requests` tells what clients sent,
    `cluster` kills and moves brokers and replicas where there are several.

    `page` is where a person can look at the first broker, "" where `running` was not asked for it by `http=True`.
    `control` is asked for these four, and for what has no method; `has_control`: whether there is one.

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
        self.page = ""
        self.clients = clients or ClientSettings(bootstrap)
        self.wire = WireClient(bootstrap, security)
        self.has_control = control is not None
        self.control = asked = control or NoControl()
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
        timeout: float = TIMEOUT_S,
    ) -> list[TestRecord]:
        """Writes values with acks=all, all with the same key and headers, and returns them as they are stored.

        Without a partition the key's hash chooses it, and without a key it is 0. A topic that is missing is created.
        `timestamp` is now, by the brokers' clock. Waits `timeout` seconds for a leader, and for the replicas in sync.
        """
        partitions = self._partitions_or_new(topic)
        own = as_bytes(key)
        if partition is None:
            partition = 0 if own is None else partition_for_key(own, len(partitions))
        _check_partition(topic, partition, partitions)
        stamp = self._now_ms() if timestamp is None else timestamp
        given = headers_as_bytes(headers)
        records = [
            Record(offset=at, timestamp=stamp, key=own, value=as_bytes(value), headers=tuple(given))
            for at, value in enumerate(values)
        ]
        data = PartitionProduceData(index=partition, records=build_batch(records))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=max(1, round(timeout * 1000)),
            topic_data=(TopicProduceData(name=topic, partition_data=(data,)),),
        )

        def write(leaders: Mapping[int, int]) -> int:
            answer = self.wire.call(request, node=leaders[partition]).responses[0].partition_responses[0]
            check(f"writing to {topic}-{partition}", answer)
            return int(answer.base_offset)

        first = self._at_leaders(topic, (partition,), write, timeout)
        return [_test_record(topic, partition, first + record.offset, record) for record in records]

    def records(
        self,
        topic: str,
        partition: int | None = None,
        *,
        isolation: str = "read_committed",
        timeout: float = TIMEOUT_S,
    ) -> list[TestRecord]:
        """All records that a consumer of that isolation level sees now, by partition and offset.

        Of a topic that nobody has made yet there are none. Waits `timeout` seconds for a leader where there is none.
        """
        if isolation not in LEVELS:
            raise ValueError(f"isolation is {' or '.join(LEVELS)}, not {isolation!r}")
        try:
            level, partitions = LEVELS[isolation], list(self.wire.leaders(topic))
        except KafkaError as fault:
            if fault.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return []
        if partition is not None:
            _check_partition(topic, partition, partitions)
            partitions = [partition]

        def read(leaders: Mapping[int, int]) -> list[TestRecord]:
            found: list[TestRecord] = []
            for node, own in by_node(leaders).items():
                starts = self._offsets(node, topic, own, EARLIEST, level)
                ends = self._offsets(node, topic, own, LATEST, level)
                for index in own:
                    found += self._read(node, topic, index, starts[index], ends[index], level)
            return found

        found = self._at_leaders(topic, partitions, read, timeout)
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def wait_for_records(self, topic: str, count: int, *, timeout: float = TIMEOUT_S) -> list[TestRecord]:
        """The records of the topic once there are `count`. Raises: AssertionError after `timeout` seconds."""
        self._wait(lambda: len(self.records(topic)) >= count, timeout)
        found = self.records(topic)
        assert len(found) >= count, f"{topic} has {len(found)} records after {timeout} s, not {count}{_hint()}"
        return found

    def assert_produces(
        self, topic: str, *expected: Expected, timeout: float = 5.0, any_order: bool | None = None
    ) -> list[TestRecord]:
        """The topic holds these records and no others, after waiting `timeout` seconds for as many to come.

        A record is expected by its value, or by a dict with any of key, value, headers, partition, offset. Their order
        counts in a topic of one partition, unless `any_order` says otherwise.
        """
        self._wait(lambda: len(self.records(topic)) >= len(expected), timeout)
        found = self.records(topic)
        if any_order is None:
            any_order = len(self.wire.leaders(topic)) > 1 if found else False
        assert_same(expected, found, any_order=any_order)
        return found

    def delete_topic(self, name: str) -> None:
        """Deletes a topic with its records. Raises: KafkaError."""
        (result,) = self.wire.run(delete_topics([name]))
        if result.failed:
            raise KafkaError(f"deleting topic {name}", ErrorCode[result.error], result.message)

    def reset(self) -> None:
        """All as new: topics, groups and transactions are gone, faults and clock are reset, every broker runs."""
        self.control.ask("POST", "reset")

    # Partitions

    def partition(self, topic: str, index: int = 0) -> Partition:
        """Who leads a partition, and who is in sync. Raises: KafkaError for a topic, ValueError for an index."""
        (found,) = self.wire.run(describe_topics([topic]))
        if found["error"]:
            raise KafkaError(f"topic {topic}", ErrorCode[found["error"]])
        _check_partition(topic, index, [each["partition"] for each in found["partitions"]])
        partition = partition_of(topic, found["partitions"][index])
        if partition.leader < 0:
            return partition
        try:
            ends = self._offsets(partition.leader, topic, [index], LATEST, LEVELS["read_uncommitted"])
        except ClientError:
            return partition
        return replace(partition, high_watermark=ends[index])

    def wait_for_leader(
        self,
        topic: str,
        index: int = 0,
        *,
        broker: int | None = None,
        other_than: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> Partition:
        """The partition once it is led by anyone, by `broker`, or by one that is `other_than` that.

        Raises: AssertionError after `timeout` seconds.
        """

        def is_led(found: Partition) -> bool:
            return found.leader >= 0 and broker in (None, found.leader) and found.leader != other_than

        wanted = "led" if broker is None else f"led by {broker}"
        wanted += "" if other_than is None else f", by another broker than {other_than}"
        return self._wait_for(lambda: self.partition(topic, index), is_led, timeout, wanted)

    def wait_for_isr(self, topic: str, index: int, brokers: Iterable[int], *, timeout: float = TIMEOUT_S) -> Partition:
        """The partition once these are in sync, and no others. Raises: AssertionError after `timeout` seconds."""
        wanted = frozenset(brokers)
        return self._wait_for(
            lambda: self.partition(topic, index), lambda found: found.isr == wanted, timeout, f"ISR {sorted(wanted)}"
        )

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

    def delete_group(self, name: str) -> None:
        """Deletes a group that has no members, with its offsets. Raises: KafkaError."""
        (result,) = self.wire.run(delete_groups([name]))
        if result.failed:
            raise KafkaError(f"deleting group {name}", ErrorCode[result.error], result.message)

    def wait_for_group(
        self, name: str, state: str = "Stable", *, members: int | None = None, timeout: float = TIMEOUT_S
    ) -> Group:
        """The group once it is in that state with `members` members. Raises: AssertionError after `timeout` seconds.

        A member that begins at the latest offset may not have its place yet: `wait_for_consumers` waits for that, too.
        """
        if state not in STATES:
            raise ValueError(f"a group is {', '.join(STATES)}, not {state!r}")
        wanted = state if members is None else f"{state} with {members} members"
        return self._wait_for(
            lambda: self.group(name),
            lambda found: found.state == state and members in (None, len(found.members)),
            timeout,
            wanted,
            lambda found: f"group {name} is {found.state} with {len(found.members)} members",
        )

    def wait_for_consumers(self, group: str, members: int = 1, *, timeout: float = TIMEOUT_S) -> Group:
        """The group once it has `members`, and each has fetched from every partition that it was given.

        What is produced then is read by them, also where they begin at the latest offset. For brokers of stepdown.
        Raises: AssertionError after `timeout` seconds.
        """
        wanted = {"group": group, "members": members, "timeout": round(timeout * 1000)}
        answer = self.control.ask("POST", "groups/wait", wanted)
        assert answer["is_there"], f"after {timeout} s: {answer['reason']}{_hint()}"
        return self.group(group)

    def offset_lag(self, group: str) -> dict[TopicPartition, int]:
        """How many offsets the group is behind, in what it has committed or its members were given."""
        committed = self.committed(group)
        given = {place for member in self.group(group).members for place in member.partitions}
        topics = sorted({topic for topic, _ in committed.keys() | given})
        ends = {(topic, index): end for topic in topics for index, end in self._ends(topic).items()}
        return {place: ends[place] - committed.get(place, 0) for place in sorted(committed.keys() | given)}

    def wait_for_offset_lag(self, group: str, lag: int = 0, *, timeout: float = TIMEOUT_S) -> dict[TopicPartition, int]:
        """The lag of each partition, once it is `lag` in all of them together, or less.

        A group that has neither committed nor members is waited for. Raises: AssertionError after `timeout` seconds.
        """

        def show(found: dict[TopicPartition, int]) -> str:
            behind = ", ".join(f"{topic}-{index} by {left}" for (topic, index), left in found.items() if left)
            return f"group {group} is behind in {behind}" if found else f"group {group} has no partitions"

        return self._wait_for(
            lambda: self.offset_lag(group),
            lambda found: bool(found) and sum(found.values()) <= lag,
            timeout,
            f"behind by {lag} at most",
            show,
        )

    # Ways

    def _now_ms(self) -> int:
        return self.clock.now_ms if self.has_control else time.time_ns() // 1_000_000

    def _partitions_or_new(self, topic: str) -> list[int]:
        try:
            return list(self.wire.leaders(topic))
        except KafkaError as fault:
            if fault.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        self.create_topic(topic)
        return list(self.wire.leaders(topic))

    def _at_leaders(
        self, topic: str, partitions: Sequence[int], act: Callable[[Mapping[int, int]], T], timeout: float
    ) -> T:
        """What `act` makes of the leaders; again while one is missing, cannot be reached, or does not lead any more."""
        last = time.monotonic() + timeout
        while True:
            try:
                leaders = self.wire.leaders(topic)
                for each in partitions:
                    if leaders[each] < 0:
                        raise KafkaError(f"{topic}-{each} has no leader", ErrorCode.LEADER_NOT_AVAILABLE)
                return act({each: leaders[each] for each in partitions})
            except ClientError as fault:
                has_moved = isinstance(fault, Unreachable) or fault.error_code in MOVED
                if not has_moved or time.monotonic() >= last:
                    raise
            time.sleep(PAUSE_S)

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

    def _ends(self, topic: str) -> dict[int, int]:
        def read(leaders: Mapping[int, int]) -> dict[int, int]:
            found: dict[int, int] = {}
            for node, own in by_node(leaders).items():
                found |= self._offsets(node, topic, own, LATEST, LEVELS["read_uncommitted"])
            return found

        return self._at_leaders(topic, list(self.wire.leaders(topic)), read, TIMEOUT_S)

    def _wait_for(
        self,
        look: Callable[[], T],
        is_there: Callable[[T], bool],
        timeout: float,
        wanted: str,
        show: Callable[[T], str] = str,
    ) -> T:
        """What `look` finds, once it `is_there`. Raises: AssertionError, which shows what was there instead."""
        last = time.monotonic() + timeout
        while not is_there(found := look()):
            assert time.monotonic() < last, f"{show(found)} after {timeout} s, not {wanted}{_hint()}"
            time.sleep(PAUSE_S)
        return found

    def _wait(self, is_there: Callable[[], bool], timeout: float) -> None:
        """Returns when `is_there`, or after `timeout` seconds."""
        last = time.monotonic() + timeout
        while not is_there() and time.monotonic() < last:
            time.sleep(PAUSE_S)


def _hint() -> str:
    """For who waits in a coroutine."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return ""
    return ". This call held the event loop, and clients in it: await it, with the fixture kafka_async"


def _check_partition(topic: str, partition: int, partitions: Sequence[int]) -> None:
    if partition not in partitions:
        raise ValueError(f"{topic} has {len(partitions)} partitions, from 0 on, and none with the number {partition}")


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
