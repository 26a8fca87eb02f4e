"""Group logic without a broker: a clock moved by hand, a list for a log."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from stepdown.broker.groups.caller import Caller
from stepdown.broker.groups.classic.group import ClassicGroup
from stepdown.broker.groups.classic.join import Joins
from stepdown.broker.groups.classic.member_requests import MemberRequests
from stepdown.broker.groups.classic.rebalance import Rebalancer
from stepdown.broker.groups.consumer.changes import GroupChangePlanner
from stepdown.broker.groups.consumer.group import ConsumerGroup
from stepdown.broker.groups.consumer.heartbeat import ConsumerHeartbeats
from stepdown.broker.groups.consumer_group_store import ConsumerGroupStore
from stepdown.broker.groups.group_logger import GroupLogger
from stepdown.broker.groups.group_record_log import StoredRecords, TransactionalProducer
from stepdown.broker.groups.group_registry import GroupRegistry
from stepdown.broker.groups.group_settings import GroupSettings
from stepdown.broker.groups.migration.classic_members import ClassicMembersInConsumerGroup
from stepdown.broker.groups.migration.group_converter import GroupConverter
from stepdown.broker.groups.offsets.committed_offsets import Offsets
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset, OffsetRequests
from stepdown.broker.groups.state.replay import Replay
from stepdown.broker.scheduling.keyed_timers import Timers
from stepdown.broker.scheduling.round_faults import RoundFaults
from stepdown.network.admission.peer_log_limit import PeerLogLimit
from stepdown.protocol.coordinator.consumer_group_records import TopicMetadata
from stepdown.protocol.coordinator.consumer_protocol import ConsumerSubscription, encode_subscription
from stepdown.protocol.coordinator.group_log import (
    EncodedGroupRecord,
    GroupRecord,
    decode_group_record,
    encode_group_record,
)
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from stepdown.protocol.messages.leave_group import MemberIdentity
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from support.clock import ManualClock, settle

GROUP = "g"
SUBSCRIPTION = encode_subscription(ConsumerSubscription(topics=("t",)), 0)


def topic_id(number: int) -> UUID:
    return UUID(int=number)


class MemoryStore:
    """Keeps records in a list, as they would be read back. `failure` is raised instead of writing."""

    def __init__(self) -> None:
        self.records: list[GroupRecord] = []
        self.producers: list[TransactionalProducer | None] = []
        self.batches = 0
        self.failure: ErrorCode | None = None
        self.replication: asyncio.Future[None] | None = None

    def partition_of(self, group_id: str) -> int:
        return 0

    def append(
        self, group_id: str, records: Sequence[GroupRecord], producer: TransactionalProducer | None = None
    ) -> StoredRecords:
        return self.append_encoded_records(group_id, list(map(encode_group_record, records)), producer)

    def append_encoded_records(
        self,
        group_id: str,
        records: Sequence[EncodedGroupRecord],
        producer: TransactionalProducer | None = None,
    ) -> StoredRecords:
        if self.failure is not None:
            raise ApiError("the store fails", self.failure)
        first = len(self.records)
        for record in records:
            read_back = decode_group_record(*record)
            assert read_back is not None
            self.records.append(read_back)
            self.producers.append(producer)
        self.batches += 1
        return StoredRecords(partition=0, first_offset=first, end_offset=len(self.records))

    async def await_replication(self, stored: StoredRecords, timeout_ms: int) -> None:
        if self.replication is not None:
            await self.replication


class GroupWorld:
    """Everything that answers requests about groups.

    Futures of JoinGroup and SyncGroup are tasks of the running loop.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**{"initial_rebalance_delay_ms": 0, **settings})
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.groups = GroupRegistry()
        self.offsets = Offsets()
        self.topics: dict[str, TopicMetadata] = {}
        self.faults: list[str] = []  # of timers
        self.timers = Timers(self.clock, RoundFaults(self.clock, self.faults.append))
        self.rebalancer = Rebalancer(self.settings, self.timers, self.store, GroupLogger(PeerLogLimit(self.clock)))
        self.joins = Joins(self.settings, self.rebalancer, self.store)
        self.members = MemberRequests(self.rebalancer, self.store, 5000)
        self.commits = OffsetRequests(self.settings, self.groups, self.offsets, self.rebalancer, self.store, 5000)
        self.replay = Replay(self.groups, self.offsets)
        self.converter = GroupConverter(self.settings, self.topics.get, self._name_of)
        planner = GroupChangePlanner(self.settings, self.topics.get, self.topics.keys)
        self.consumers = ConsumerGroupStore(
            self.settings, self.groups, self.timers, self.store, self.replay, self.rebalancer, planner, self.converter
        )
        self.heartbeats = ConsumerHeartbeats(self.consumers)
        self.classic_in_consumer = ClassicMembersInConsumerGroup(self.consumers, self.converter)

    def _name_of(self, wanted: UUID) -> str | None:
        return next((topic.topic_name for topic in self.topics.values() if topic.topic_id == wanted), None)

    def add_topic(self, name: str, partitions: int, number: int) -> UUID:
        self.topics[name] = TopicMetadata(topic_id=topic_id(number), topic_name=name, num_partitions=partitions)
        return topic_id(number)

    # Classic

    @property
    def group(self) -> ClassicGroup:
        found = self.groups.find(GROUP)
        assert isinstance(found, ClassicGroup)
        return found

    @property
    def consumer_group(self) -> ConsumerGroup:
        found = self.groups.find(GROUP)
        assert isinstance(found, ConsumerGroup)
        return found

    def join(
        self,
        member_id: str = "",
        *,
        version: int = 9,
        instance: str | None = None,
        protocols: dict[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
    ) -> "asyncio.Future[JoinGroupResponse]":
        request = join_request(
            member_id, instance, protocols, protocol_type, session_ms=session_ms, rebalance_ms=rebalance_ms
        )
        group = self.groups.find(GROUP)
        if group is None:
            group = ClassicGroup(GROUP, state_since_ms=self.clock.now_ms())
            self.groups.put(group)
        assert isinstance(group, ClassicGroup)
        return self.joins.join(group, request, Caller(version=version, client_id="client"))

    def join_consumer_group(
        self,
        member_id: str = "",
        *,
        version: int = 9,
        owned: tuple[Any, ...] = (),
        instance: str | None = None,
        may_see: Callable[[str], bool] = lambda topic: True,
    ) -> JoinGroupResponse:
        subscription = encode_subscription(ConsumerSubscription(topics=("t",), owned_partitions=owned), 1)
        request = join_request(member_id, instance, {"range": subscription}, "consumer")
        caller = Caller(version=version, client_id="client", may_see=may_see)
        return self.classic_in_consumer.join(request, caller)

    def sync(
        self,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance: str | None = None,
        protocol: str | None = None,
    ) -> "asyncio.Task[SyncGroupResponse]":
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.group.generation if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_name=protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=data)
                for each, data in (assignments or {}).items()
            ],
        )
        return asyncio.get_running_loop().create_task(self.members.sync(self.group, request))

    def heartbeat(self, member_id: str, *, generation: int | None = None, instance: str | None = None) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.group.generation if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        return self.members.heartbeat(self.group, request)

    def leave(self, *leaving: str | tuple[str, str]) -> list[ErrorCode]:
        """Removes members, named by id, or by id and instance id; returns the error of each."""
        named = [
            MemberIdentity(member_id=each)
            if isinstance(each, str)
            else MemberIdentity(member_id=each[0], group_instance_id=each[1])
            for each in leaving
        ]
        return [ErrorCode(each.error_code) for each in self.members.leave(self.group, named)]

    async def form(self, count: int, **join: Any) -> list[str]:
        """Member ids of a group that has `count` members and is stable; the first one leads."""
        joins = [self.join(version=3, **join) for _ in range(count)]
        await self.clock.advance(0)
        ids = [answer.result().member_id for answer in joins]
        await self.settle_syncs(ids)
        return ids

    async def settle_syncs(self, ids: Sequence[str]) -> list[SyncGroupResponse]:
        leader = self.group.leader_id
        assignments = {member_id: f"of {member_id}".encode() for member_id in ids}
        syncs = [self.sync(each, assignments if each == leader else None) for each in ids]
        await settle()
        return [each.result() for each in syncs]

    # Offsets

    def commit(
        self, offsets: dict[tuple[str, int], int], *, metadata: str | None = None, **committer: Any
    ) -> "asyncio.Task[dict[tuple[str, int], ErrorCode]]":
        extra = {key: committer.pop(key) for key in ("retention_ms", "commit_ms") if key in committer}
        new = [
            NewOffset(topic=topic, partition=partition, offset=offset, metadata=metadata, **extra)
            for (topic, partition), offset in offsets.items()
        ]
        who = Committer(**{"group_id": GROUP, **committer})
        return asyncio.get_running_loop().create_task(self.commits.commit(who, new))

    # Consumer protocol

    def consumer_heartbeat(
        self, member_id: str, epoch: int, owned: dict[UUID, list[int]] | None = None, **request: Any
    ) -> ConsumerGroupHeartbeatResponse:
        version, may_see = request.pop("version", 1), request.pop("may_see", lambda topic: True)
        if epoch == 0:
            request = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ("t",), **request}
            owned = owned or {}
        listed = None
        if owned is not None:
            listed = [TopicPartitions(topic_id=each, partitions=partitions) for each, partitions in owned.items()]
        message = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, topic_partitions=listed, **request
        )
        return self.heartbeats.heartbeat(message, Caller(version=version, client_id="client", may_see=may_see))

    # Restart

    def reloaded(self) -> "GroupWorld":
        """Another world that has read this one's records."""
        other = GroupWorld()
        other.settings = self.settings
        for offset, record in enumerate(self.store.records):
            producer = self.store.producers[offset]
            other.replay.apply(record, offset, -1 if producer is None else producer.producer_id)
        return other


def join_request(
    member_id: str,
    instance: str | None,
    protocols: dict[str, bytes] | None,
    protocol_type: str,
    *,
    session_ms: int = 10_000,
    rebalance_ms: int = 60_000,
) -> JoinGroupRequest:
    offered = {"range": SUBSCRIPTION} if protocols is None else protocols
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=tuple(JoinGroupRequestProtocol(name=name, metadata=data) for name, data in offered.items()),
    )
