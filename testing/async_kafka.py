"""The handle by which a test uses brokers: their address, and methods to be awaited."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import monotonic, time_ns
from typing import TypeVar

from ..client.errors import ClientError, KafkaError, NoAnswer, Unreachable
from ..client.operation import TopicPartition
from ..client.operations.groups import DEAD, Group, delete_groups, describe_groups
from ..client.operations.offsets import LATEST, committed_offsets
from ..client.operations.topics import NewTopic, create_topics, delete_topics, describe_topics
from ..client.security.settings import OPEN, SecuritySettings
from ..config.similar_names import suggest
from ..producer.partitioners.murmur2 import partition_for_key
from ..protocol.errors import ErrorCode
from ..protocol.messages.metadata import MetadataRequest
from ..protocol.plural import plural
from ..protocol.records.record import Record
from .blocking_front import NameSuggestions
from .clock import AsyncClock
from .cluster import AsyncCluster
from .control_client import ControlClient, ControlFailed, MissingControlClient
from .faults import AsyncFaults, raise_unfired
from .partition import Partition, partition_from_control, partition_from_metadata
from .received_requests import AsyncRequests
from .record_comparison import Expected, TestRecord, as_bytes, assert_same, headers_as_bytes
from .security.client_settings import ClientSettings
from .wire.config_values import as_config_value, mention_times
from .wire.waiting import LOOK_S, Timeout, parse_timeout_s, run_within, wait_for
from .wire.wire_client import WireClient
from .wire.wire_records import WireRecords

for _error in (ControlFailed, KafkaError, NoAnswer, Unreachable):
    _error.__module__ = "stepdown.testing"  # where tests import them from

T = TypeVar("T")
TIMEOUT_S = 10.0
MOST_TOPICS = 20
"""At most this many names are in the message that a topic is missing."""
LEVELS = {"read_uncommitted": 0, "read_committed": 1}
STATES = ("Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")

Data = bytes | str | None
Headers = Mapping[str, Data] | Iterable[tuple[str, Data]]


class AsyncKafka(NameSuggestions):
    """A running broker or cluster. `bootstrap`: its addresses for clients. `clients`: complete settings for clients.

    `faults` injects faults, `clock` moves the brokers' time, `requests` lists what clients sent, and `cluster` stops
    brokers and moves leaders and replicas.

    `page`: URL of the first broker's page, "" unless `running` was called with `http=True`. `control`: the control
    of the brokers, for requests without a method here. `has_control`: whether there is one.

    Its own requests have the client id `stepdown-testing`, which no fault touches and no request log shows. Connections
    are in `loop`, the loop of brokers in this process, or else the running one; methods can be awaited in any loop.
    Raises: KafkaError with the broker's error code, AssertionError from `assert_…` and `wait_for_…`.
    """

    def __init__(
        self,
        bootstrap: str,
        control: ControlClient | None = None,
        clients: ClientSettings | None = None,
        security: SecuritySettings = OPEN,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.page = ""
        self.clients = clients or ClientSettings(bootstrap)
        self._wire = WireClient(bootstrap, security, loop=loop or asyncio.get_running_loop())
        self._records = WireRecords(self._wire)
        self.has_control = control is not None
        self.control = asked = control or MissingControlClient()
        self.faults, self.clock, self.requests = AsyncFaults(asked), AsyncClock(asked), AsyncRequests(asked)
        self.cluster = AsyncCluster(asked)

    async def close(self) -> None:
        """Closes this object's own connections."""
        await self._wire.close()

    # Topics and records

    async def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication_factor: int = -1,
        config: Mapping[str, object] | None = None,
    ) -> None:
        """Creates a topic; -1 is the broker's `default.replication.factor`."""
        if not isinstance(partitions, int):
            raise TypeError(f"partitions is a number, not {partitions!r}")
        topic = NewTopic(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: as_config_value(key, value) for key, value in (config or {}).items()},
        )
        (result,) = await self._wire.run(create_topics([topic]))
        if result.failed:
            raise KafkaError(f"creating topic {name}", ErrorCode[result.error], mention_times(result.message))

    async def produce(
        self,
        topic: str,
        *values: Data,
        key: Data = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: int | None = None,
        timeout: Timeout = TIMEOUT_S,
    ) -> list[TestRecord]:
        """Writes values with acks=all, all with the same key and headers, and returns them as they are stored.

        Without a partition the key's hash chooses it, and without a key it is 0. A topic that is missing is created.
        `timestamp` is now, by the brokers' clock. Waits `timeout` seconds for a leader, and for the replicas in sync.
        """
        own, given, data = as_bytes(key), headers_as_bytes(headers), [as_bytes(value) for value in values]

        async def write() -> list[TestRecord]:
            place = await self._choose_partition(topic, partition, own)
            stamp = await self._now_ms() if timestamp is None else timestamp
            records = [
                Record(offset=at, timestamp=stamp, key=own, value=value, headers=tuple(given))
                for at, value in enumerate(data)
            ]
            return await self._records.write(topic, place, records, parse_timeout_s(timeout))

        return await run_within(timeout, write, f"producing to {topic}", self._why_silent)

    async def _choose_partition(self, topic: str, partition: int | None, key: bytes | None) -> int:
        """The partition to write to; creates a missing topic. Raises: ValueError for a partition that it lacks."""
        partitions = await self._find_or_create_partitions(topic)
        if partition is None:
            partition = 0 if key is None else partition_for_key(key, len(partitions))
        _check_partition(topic, partition, partitions)
        return partition

    async def records(
        self,
        topic: str,
        partition: int | None = None,
        *,
        isolation: str = "read_committed",
        timeout: Timeout = TIMEOUT_S,
    ) -> list[TestRecord]:
        """Returns all records that a consumer of that isolation level can read now, sorted by partition and offset.

        A topic that does not exist has none, without an error. Waits `timeout` seconds for a missing leader.
        """
        if isolation not in LEVELS:
            raise ValueError(f"isolation is {' or '.join(LEVELS)}, not {isolation!r}")
        level, seconds = LEVELS[isolation], parse_timeout_s(timeout)
        return await run_within(
            timeout, lambda: self._read(topic, partition, level, seconds), f"reading {topic}", self._why_silent
        )

    async def _read(self, topic: str, partition: int | None, level: int, seconds: float) -> list[TestRecord]:
        try:
            partitions = list(await self._wire.leaders(topic))
        except KafkaError as fault:
            if fault.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return []
        if partition is not None:
            _check_partition(topic, partition, partitions)
            partitions = [partition]
        return await self._records.read(topic, partitions, level, seconds)

    async def wait_for_records(self, topic: str, count: int, *, timeout: Timeout = TIMEOUT_S) -> list[TestRecord]:
        """Returns the records of the topic once there are `count`. Raises: AssertionError after `timeout` seconds."""
        try:
            return await self._wait_for(
                lambda: self.records(topic),
                lambda found: len(found) >= count,
                timeout,
                str(count),
                lambda found: f"{topic} has {plural(len(found), 'record')}",
            )
        except AssertionError as fault:
            raise await self._absence_of(topic, count, timeout) or fault from None

    async def assert_produces(
        self, topic: str, *expected: Expected, timeout: Timeout = 5.0, any_order: bool | None = None
    ) -> list[TestRecord]:
        """Asserts that the topic has these records and no others, after waiting up to `timeout` seconds for that many.

        A record is expected by its value, or by a dict with any of key, value, headers, partition, offset. Their order
        counts in a topic of one partition, unless `any_order` says otherwise.
        """
        end = monotonic() + parse_timeout_s(timeout)
        found = await self._wait_for(
            lambda: self.records(topic),
            lambda found: len(found) >= len(expected) or monotonic() >= end,
            timeout,
            plural(len(expected), "record"),
        )
        if any_order is None:
            any_order = len(await self._wire.leaders(topic)) > 1 if found else False
        try:
            assert_same(expected, found, any_order=any_order)
        except AssertionError as fault:
            raise (None if found else await self._absence_of(topic, len(expected), timeout)) or fault from None
        return found

    async def delete_topic(self, name: str) -> None:
        """Deletes a topic with its records. Raises: KafkaError."""
        (result,) = await self._wire.run(delete_topics([name]))
        if result.failed:
            raise KafkaError(f"deleting topic {name}", ErrorCode[result.error], result.message)

    async def reset(self) -> None:
        """Restores the initial state: no topics, groups, transactions or faults, clock reset, all brokers running."""
        await self.control.ask("POST", "reset")

    async def end_test(self) -> None:
        """Removes faults, resumes the clock and starts all brokers; topics, groups and transactions stay.

        Raises: AssertionError as `faults.assert_fired` does.
        """
        raise_unfired(await self.control.ask("POST", "reset", {"keep_contents": True}))

    # Partitions

    async def partition(self, topic: str, index: int = 0) -> Partition:
        """Returns leader, ISR and log ends of a partition, also of brokers that answer no client.

        Raises: KafkaError for a topic, ValueError for an index.
        """
        if self.has_control:
            found = (await self.control.ask("POST", "topics/describe", {"topic": topic}))["partitions"]
            if not found:
                raise KafkaError(f"topic {topic}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            _check_partition(topic, index, range(len(found)))
            return partition_from_control(topic, found[index])
        (told,) = await self._wire.run(describe_topics([topic]))
        if told["error"]:
            raise KafkaError(f"topic {topic}", ErrorCode[told["error"]])
        _check_partition(topic, index, range(len(told["partitions"])))
        partition = told["partitions"][index]
        return partition_from_metadata(
            topic, partition, await self._read_high_watermark(topic, index, partition["leader"])
        )

    async def _read_high_watermark(self, topic: str, index: int, leader: int) -> int | None:
        try:
            return None if leader < 0 else (await self._records.list_offsets(leader, topic, [index], LATEST))[index]
        except ClientError:
            return None

    async def wait_for_leader(
        self,
        topic: str,
        index: int = 0,
        *,
        broker: int | None = None,
        other_than: int | None = None,
        timeout: Timeout = TIMEOUT_S,
    ) -> Partition:
        """Returns the partition once it has a leader: any, `broker`, or one `other_than` that.

        Raises: AssertionError after `timeout` seconds.
        """

        def is_led(found: Partition) -> bool:
            return found.leader >= 0 and broker in (None, found.leader) and found.leader != other_than

        wanted = "led" if broker is None else f"led by {broker}"
        wanted += "" if other_than is None else f", by another broker than {other_than}"
        return await self._wait_for(lambda: self.partition(topic, index), is_led, timeout, wanted)

    async def wait_for_isr(
        self, topic: str, index: int, brokers: Iterable[int], *, timeout: Timeout = TIMEOUT_S
    ) -> Partition:
        """Returns the partition once exactly these brokers are in sync. Raises: AssertionError after `timeout` s."""
        wanted = frozenset(brokers)
        return await self._wait_for(
            lambda: self.partition(topic, index), lambda found: found.isr == wanted, timeout, f"ISR {sorted(wanted)}"
        )

    async def wait_for_epoch(
        self, topic: str, index: int, leader_epoch: int, *, timeout: Timeout = TIMEOUT_S
    ) -> Partition:
        """The partition once its leader's epoch is that, or a later one. Raises: AssertionError after `timeout` s."""
        return await self._wait_for(
            lambda: self.partition(topic, index),
            lambda found: found.leader_epoch >= leader_epoch,
            timeout,
            f"epoch {leader_epoch}",
        )

    async def wait_for_log_end(
        self, topic: str, index: int, offset: int, *, brokers: Iterable[int] = (), timeout: Timeout = TIMEOUT_S
    ) -> Partition:
        """Returns the partition once the logs of these brokers, by default of all replicas, end at `offset` or later.

        For brokers of stepdown. Raises: AssertionError after `timeout` seconds.
        """
        named = frozenset(brokers)

        def is_there(found: Partition) -> bool:
            return all(found.log_ends.get(broker, -1) >= offset for broker in named or found.replicas)

        wanted = f"log end {offset} at {sorted(named) if named else 'all replicas'}"
        return await self._wait_for(lambda: self._partition_with_logs(topic, index), is_there, timeout, wanted)

    async def wait_for_high_watermark(
        self, topic: str, index: int, offset: int, *, timeout: Timeout = TIMEOUT_S
    ) -> Partition:
        """The partition once consumers may read up to there. Raises: AssertionError after `timeout` seconds."""
        return await self._wait_for(
            lambda: self.partition(topic, index),
            lambda found: (found.high_watermark or 0) >= offset,
            timeout,
            f"high watermark {offset}",
        )

    async def _partition_with_logs(self, topic: str, index: int) -> Partition:
        if not self.has_control:
            raise ControlFailed("this Kafka does not tell where the logs of its replicas end: it has no control port")
        return await self.partition(topic, index)

    # Brokers

    async def controller(self) -> int:
        """Returns the controller's broker id as clients see it, -1 for none."""
        if self.has_control:
            return int((await self.control.ask("GET", "brokers"))["controller"])
        return int((await self._wire.call(MetadataRequest(topics=()))).controller_id)

    async def wait_for_controller(
        self, broker: int | None = None, *, other_than: int | None = None, timeout: Timeout = TIMEOUT_S
    ) -> int:
        """Returns the controller once it is `broker`, or not `other_than`. Raises: AssertionError after `timeout` s."""
        return await self._wait_for_broker(self.controller, "the controller is", broker, other_than, timeout)

    async def coordinator(self, group: str | None = None, *, transactional_id: str | None = None) -> int:
        """Returns the broker id of a group's or transactional id's coordinator, or -1. For brokers of stepdown."""
        asked = {"group": group} if transactional_id is None else {"transactional_id": transactional_id}
        return int((await self.control.ask("POST", "coordinators/find", asked))["coordinator"])

    async def wait_for_coordinator(
        self,
        group: str | None = None,
        *,
        transactional_id: str | None = None,
        broker: int | None = None,
        other_than: int | None = None,
        timeout: Timeout = TIMEOUT_S,
    ) -> int:
        """Returns the coordinator once it is `broker`, or not `other_than`. Raises: AssertionError at `timeout`."""
        return await self._wait_for_broker(
            lambda: self.coordinator(group, transactional_id=transactional_id),
            f"the coordinator of {group or transactional_id} is",
            broker,
            other_than,
            timeout,
        )

    async def _wait_for_broker(
        self,
        look: Callable[[], Awaitable[int]],
        what: str,
        broker: int | None,
        other_than: int | None,
        timeout: Timeout,
    ) -> int:
        def is_there(found: int) -> bool:
            return found >= 0 and broker in (None, found) and found != other_than

        def show(found: int) -> str:
            return f"{what} {found if found >= 0 else 'none'}"

        wanted = "any broker" if broker is None else str(broker)
        wanted += "" if other_than is None else f", another one than {other_than}"
        return await self._wait_for(look, is_there, timeout, wanted, show)

    # Groups

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Returns the offsets that a group has committed."""
        return await self._wire.run(committed_offsets(group))

    async def group(self, name: str) -> Group:
        """Returns a group of the classic or the consumer protocol, with its members."""
        (found,) = await self._wire.run(describe_groups([name]))
        if found.error and found.error != ErrorCode.GROUP_ID_NOT_FOUND.name:
            raise KafkaError(f"group {name}", ErrorCode[found.error])
        return found

    async def delete_group(self, name: str) -> None:
        """Deletes a group that has no members, with its offsets. Raises: KafkaError."""
        (result,) = await self._wire.run(delete_groups([name]))
        if result.failed:
            raise KafkaError(f"deleting group {name}", ErrorCode[result.error], result.message)

    async def wait_for_group(
        self, name: str, state: str = "Stable", *, members: int | None = None, timeout: Timeout = TIMEOUT_S
    ) -> Group:
        """Returns the group once it is in that state, with `members`. Raises: AssertionError after `timeout` seconds.

        A member that starts at the latest offset may not have its position yet: `wait_for_consumers` also waits for it.
        """
        given, state = state, next((each for each in STATES if each.lower() == state.lower()), "")
        if not state:
            raise ValueError(f"a group is {', '.join(STATES)}, not {given!r}")
        wanted = state if members is None else f"{state} with {plural(members, 'member')}"
        return await self._wait_for(
            lambda: self.group(name),
            lambda found: found.state == state and members in (None, len(found.members)),
            timeout,
            wanted,
            _describe_group,
        )

    async def wait_for_consumers(self, group: str, members: int = 1, *, timeout: Timeout = TIMEOUT_S) -> Group:
        """Returns the group once it has `members`, and each has fetched from every assigned partition.

        They read what is produced from then on, also from the latest offset. For brokers of stepdown.
        Raises: AssertionError after `timeout` seconds.
        """
        wanted = {"group": group, "members": members, "timeout": round(parse_timeout_s(timeout) * 1000)}
        answer = await self.control.ask("POST", "groups/wait", wanted)
        assert answer["is_there"], f"after {parse_timeout_s(timeout):g} s: {answer['reason']}"
        return await run_within(timeout, lambda: self.group(group), f"describing group {group}", self._why_silent)

    async def offset_lag(self, group: str) -> dict[TopicPartition, int]:
        """Returns by how many offsets the group is behind in each partition that it has committed or is assigned."""
        committed = await self.committed(group)
        given = {place for member in (await self.group(group)).members for place in member.partitions}
        places = sorted(committed.keys() | given)
        ends = {
            topic: await self._records.read_high_watermarks(topic, TIMEOUT_S)
            for topic in {topic for topic, _ in places}
        }
        return {(topic, index): ends[topic][index] - committed.get((topic, index), 0) for topic, index in places}

    async def wait_for_offset_lag(
        self, group: str, lag: int = 0, *, timeout: Timeout = TIMEOUT_S
    ) -> dict[TopicPartition, int]:
        """Returns the lag of each partition, once their sum is `lag` or less.

        Also waits for a group without committed offsets and members. Raises: AssertionError after `timeout` seconds.
        """

        def show(found: dict[TopicPartition, int]) -> str:
            behind = ", ".join(f"{topic}-{index} by {left}" for (topic, index), left in found.items() if left)
            return f"group {group} is behind in {behind}" if found else f"group {group} has no partitions"

        return await self._wait_for(
            lambda: self.offset_lag(group),
            lambda found: bool(found) and sum(found.values()) <= lag,
            timeout,
            f"behind by {lag} at most",
            show,
        )

    # Helpers

    async def _now_ms(self) -> int:
        return await self.clock.now_ms() if self.has_control else time_ns() // 1_000_000

    async def _wait_for(
        self,
        look: Callable[[], Awaitable[T]],
        is_there: Callable[[T], bool],
        timeout: Timeout,
        wanted: str,
        show: Callable[[T], str] = str,
    ) -> T:
        return await wait_for(look, is_there, timeout, wanted, show, self._why_silent)

    async def _why_silent(self) -> str:
        """The brokers that this test silenced, as the end of a message; "" for none, or if that is not known."""
        if not self.has_control:
            return ""
        try:
            async with asyncio.timeout(LOOK_S):
                silent = (await self.control.ask("GET", "brokers/silent"))["silent"]
        except (ControlFailed, OSError):
            return ""
        return f" ({', '.join(f'{each} by this test' for each in silent)})" if silent else ""

    async def _absence_of(self, topic: str, count: int, timeout: Timeout) -> AssertionError | None:
        """That the topic is not there, with the names of those that are; None if it is, or if no broker answers."""
        try:
            async with asyncio.timeout(LOOK_S):
                found = (await self._wire.call(MetadataRequest(topics=None))).topics
        except (ClientError, TimeoutError):
            return None
        names = sorted(each.name for each in found if not each.is_internal)
        there = f"there are: {', '.join(names[:MOST_TOPICS])}" if names else "there is none at all"
        wanted = f"{plural(count, 'record')} expected within {parse_timeout_s(timeout):g} s"
        told = f"{wanted}; there is no topic {topic}, {there}{suggest(topic, names)}"
        return None if topic in names else AssertionError(told)

    async def _find_or_create_partitions(self, topic: str) -> list[int]:
        try:
            return list(await self._wire.leaders(topic))
        except KafkaError as fault:
            if fault.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        try:
            await self.create_topic(topic)
        except KafkaError as refusal:
            if refusal.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:  # somebody else made it meanwhile
                raise
        return list(await self._wire.leaders(topic))


def _describe_group(group: Group) -> str:
    if group.state == DEAD:
        return f"there is no group {group.name}"
    return f"group {group.name} is {group.state} with {plural(len(group.members), 'member')}"


def _check_partition(topic: str, partition: int, partitions: Sequence[int]) -> None:
    if partition not in partitions:
        raise ValueError(
            f"{topic} has {plural(len(partitions), 'partition')}, from 0 on, and none with the number {partition}"
        )
