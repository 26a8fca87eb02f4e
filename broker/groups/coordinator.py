"""The group coordinator: the single entry point for all requests about groups and committed offsets.

Checked for every request, in this order (Kafka 3.9, GroupCoordinator.validateGroupStatus): the group id, whether the
coordinator runs, whether this broker leads the group's partition, whether that is loaded.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.admission.remembered_names import RememberedNames
from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages import consumer_group_describe
from ...protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from ...protocol.messages.describe_groups import DescribedGroup
from ...protocol.messages.heartbeat import HeartbeatRequest
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ...protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from ...protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ...protocol.plural import plural
from ..metadata.image import Topic
from ..metadata.partition import Partition
from ..metadata.topic_rules import OFFSETS_TOPIC
from ..scheduling.background_tasks import BackgroundTasks
from ..scheduling.keyed_timers import Timers
from ..scheduling.periodic_task import Periodic
from .caller import Caller
from .classic.group import UNKNOWN_MEMBER, ClassicGroup
from .classic.join import Joins
from .classic.member import join_error, sync_error
from .classic.member_requests import MemberRequests
from .classic.rebalance import Rebalancer
from .classic.state_table import DELETE
from .consumer.changes import GroupChangePlanner
from .consumer.group import ConsumerGroup
from .consumer.heartbeat import ConsumerHeartbeats
from .consumer.long_plans import LongPlans
from .consumer.topic_lookup import TopicLookup
from .consumer.topic_regex import precompute_matches
from .consumer_group_store import ConsumerGroupStore
from .describing import describe_classic, describe_consumer, describe_unknown_classic
from .group_logger import GroupLogger
from .group_registry import Group, GroupRegistry
from .group_settings import GroupSettings
from .migration.classic_members import ClassicMembersInConsumerGroup
from .migration.group_converter import GroupConverter
from .offsets.committed_offsets import CommittedOffset, Offsets, TopicPartition
from .offsets.offset_requests import Committer, NewOffset, OffsetRequests
from .state.group_loading import GroupLoading
from .state.offsets_topic_store import OffsetsTopic
from .state.replay import Replay

if TYPE_CHECKING:
    from ..core import Core
    from ..metadata.topics import Topics

log = logging.getLogger(__name__)

MOST_UNUSED_GROUPS = 5_000
"""Groups that nobody has joined: a client makes one by naming it. Each takes 3 kB with its pending member."""


class GroupCoordinator:
    """Groups and offsets of one broker."""

    def __init__(self, core: "Core", topics: "Topics") -> None:
        self._topics = topics
        self.settings = GroupSettings.of(core.settings)
        self.groups = GroupRegistry()
        self.offsets = Offsets()
        self._core = core
        self._topic = OffsetsTopic(core, topics)
        self._timers = Timers(core.clock, core.rounds)
        self._rebalancer = Rebalancer(
            self.settings, self._timers, self._topic, GroupLogger(PeerLogLimit(core.clock), core.on_group_line)
        )
        self._rebalancer.on_unused = self._note_unused_group
        self.unused: RememberedNames[tuple[str], ClassicGroup] = RememberedNames(
            MOST_UNUSED_GROUPS, lambda names, group: self._forget_unless_in_use(group)
        )
        timeout_ms = core.settings.offsets_commit_timeout_ms
        self._joins = Joins(self.settings, self._rebalancer, self._topic)
        self._member_requests = MemberRequests(self._rebalancer, self._topic, timeout_ms)
        self._commits = OffsetRequests(
            self.settings, self.groups, self.offsets, self._rebalancer, self._topic, timeout_ms
        )
        self._replay = Replay(self.groups, self.offsets)
        self._lookup = TopicLookup(core.cluster)
        converter = GroupConverter(self.settings, self._lookup.find, self._lookup.name_of)
        self._consumers = ConsumerGroupStore(
            self.settings,
            self.groups,
            self._timers,
            self._topic,
            self._replay,
            self._rebalancer,
            GroupChangePlanner(self.settings, self._lookup.find, self._lookup.names),
            converter,
        )
        self._consumer_heartbeats = ConsumerHeartbeats(self._consumers)
        self._long_plans = LongPlans(core.run_in_worker, self.groups, self._lookup, self.ensure_topic_and_check)
        self._classic_in_consumer = ClassicMembersInConsumerGroup(self._consumers, converter)
        self._loading = GroupLoading(core.rounds, self._topic, self.groups, self.offsets, self._replay, self._on_load)
        self._expiry: Periodic | None = None
        self._deletions = BackgroundTasks()
        self._is_active = False

    # Life

    def start(self) -> None:
        """Begins to load what is stored and to look for expired offsets; requests are answered from now on."""
        self._is_active = True
        self._topics.on_deleted.append(self._on_topic_deletions)
        self._topics.on_changed.append(lambda topic: self._on_topic_changes((topic.name,)))
        self._topics.on_epoch.append(self._on_epoch)
        self._loading.start()
        interval_ms = self._core.settings.offsets_retention_check_interval_ms
        self._expiry = Periodic("offset expiry", self._core.clock, self.expire_offsets, interval_ms)

    async def await_loading(self) -> None:
        """Returns when everything that was stored at the start is loaded."""
        await self._loading.wait()

    async def stop(self) -> None:
        """Answers all parked requests and cancels all timers."""
        self._is_active = False
        await self._loading.stop()
        await self._deletions.stop()
        if self._expiry is not None:
            await self._expiry.stop()
        self._timers.cancel_all()
        for group in self.groups:
            self._answer_waiting_members(group)

    def _answer_waiting_members(self, group: Group) -> None:
        if isinstance(group, ClassicGroup):
            for member in group.members.values():
                group.answer_join(member, join_error(ErrorCode.NOT_COORDINATOR, member.member_id))
                member.answer_sync(sync_error(ErrorCode.NOT_COORDINATOR))

    def _on_load(self, group: Group) -> None:
        if isinstance(group, ConsumerGroup):
            self._consumers.timeouts.watch_all(group)
            return
        for member in group.members.values():
            self._rebalancer.keep_alive(group, member)
        if len(group.members) > self.settings.max_size:
            self._rebalancer.prepare_rebalance(
                group, f"{plural(len(group.members), 'member')}, {self.settings.max_size} are allowed"
            )

    # What may be asked

    def is_loading(self) -> bool:
        return self._loading.is_on

    async def ensure_topic_and_check(self, group_id: str, *, may_be_empty: bool = False) -> None:
        """Makes `__consumer_offsets` if it is missing.

        Raises: ApiError 24, 15, 16 or 14 when the group's requests cannot be answered here and now.
        """
        if not group_id and not may_be_empty:
            raise ApiError("the group id is empty", ErrorCode.INVALID_GROUP_ID)
        if not self._is_active:
            raise ApiError("the group coordinator does not run", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not self._topic.exists:
            await self._topic.ensure()
        partition = self._topic.partition_of(group_id)
        if not self._topic.leads(partition):
            raise ApiError(f"{OFFSETS_TOPIC}-{partition} is not led here", ErrorCode.NOT_COORDINATOR)
        if self._loading.is_loading(partition):
            raise ApiError(f"{OFFSETS_TOPIC}-{partition} is being loaded", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if self._loading.is_damaged(partition):
            raise ApiError(f"{OFFSETS_TOPIC}-{partition} is damaged, see the broker's log", ErrorCode.NOT_COORDINATOR)

    # Classic members

    async def join(self, request: JoinGroupRequest, caller: Caller) -> JoinGroupResponse:
        """Lets a member join a group; returns when the join phase has ended. Raises: ApiError."""
        await self.ensure_topic_and_check(request.group_id)
        limits = self.settings
        if not limits.min_session_timeout_ms <= request.session_timeout_ms <= limits.max_session_timeout_ms:
            message = (
                f"a session timeout of {request.session_timeout_ms} ms, which has to lie between "
                f"{limits.min_session_timeout_ms} and {limits.max_session_timeout_ms}"
            )
            raise ApiError(message, ErrorCode.INVALID_SESSION_TIMEOUT)
        group = self._group_to_join(request)
        if isinstance(group, ConsumerGroup):
            if self._long_plans.is_large(group):
                make = partial(self._classic_in_consumer.plan_join, request, caller)
                return self._consumers.store_and_respond(await self._long_plans.plan_in_worker(request.group_id, make))
            return self._classic_in_consumer.join(request, caller)
        answer = await self._joins.join(group, request, caller)
        if group.is_unused:
            self._note_unused_group(group)
        return answer

    def _note_unused_group(self, group: ClassicGroup) -> None:
        """Remembers a group that nobody has joined. It stays, as in Kafka; the oldest of too many are forgotten."""
        self.unused.put((group.group_id,), group)

    def _forget_unless_in_use(self, group: ClassicGroup) -> None:
        """Forgets the group, unless it was joined meanwhile or holds offsets."""
        if (
            group.is_unused
            and self.groups.find(group.group_id) is group
            and not self.offsets.of_group(group.group_id)
            and not self.offsets.has_open_transactions(group.group_id)
        ):
            self._rebalancer.cancel_timers(group)
            self.groups.remove(group.group_id)

    def _group_to_join(self, request: JoinGroupRequest) -> Group:
        """Finds the group; a request without member id creates one that is missing.

        Before that, an empty consumer group of that name ends and its tombstones are written, whatever member id the
        request has. (For an unknown one Kafka's `maybeDeleteEmptyConsumerGroup` removes the group only in memory.)

        Raises: ApiError UNKNOWN_MEMBER_ID."""
        group = self.groups.find(request.group_id)
        if isinstance(group, ConsumerGroup) and group.is_empty:
            self._topic.append(group.group_id, group.tombstones())
            self.groups.remove(group.group_id)
            group = None
        if group is None:
            if request.member_id != UNKNOWN_MEMBER:
                message = f"there is no group {request.group_id!r} with a member {request.member_id!r}"
                raise ApiError(message, ErrorCode.UNKNOWN_MEMBER_ID)
            group = ClassicGroup(request.group_id, state_since_ms=self._timers.now_ms())
            self.groups.put(group)
        return group

    async def sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        """Returns the member's assignment, once the leader has sent it. Raises: ApiError."""
        try:
            await self.ensure_topic_and_check(request.group_id)
        except ApiError as error:
            if error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                raise ApiError(str(error), ErrorCode.REBALANCE_IN_PROGRESS) from error
            raise
        group = self.groups.get(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ConsumerGroup):
            if group.is_empty:
                raise ApiError(f"group {group.group_id} has no members", ErrorCode.UNKNOWN_MEMBER_ID)
            return self._classic_in_consumer.sync(group, request)
        return await self._member_requests.sync(group, request)

    async def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Returns the error code for the member, NONE while the group is being loaded. Raises: ApiError."""
        try:
            await self.ensure_topic_and_check(request.group_id)
        except ApiError as error:
            if error.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return ErrorCode.NONE
            raise
        group = self.groups.get(request.group_id, ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ConsumerGroup):
            return self._classic_in_consumer.heartbeat(group, request)
        return self._member_requests.heartbeat(group, request)

    async def leave(self, request: LeaveGroupRequest, leaving: Sequence[MemberIdentity]) -> LeaveGroupResponse:
        """Removes members from a group. Raises: ApiError."""
        await self.ensure_topic_and_check(request.group_id)
        group = self.groups.find(request.group_id)
        if group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            return LeaveGroupResponse(
                members=tuple(
                    MemberResponse(member_id=m.member_id, group_instance_id=m.group_instance_id, error_code=unknown)
                    for m in leaving
                )
            )
        if isinstance(group, ConsumerGroup):
            return LeaveGroupResponse(members=self._classic_in_consumer.leave(group, leaving))
        return LeaveGroupResponse(members=self._member_requests.leave(group, leaving))

    # Members of the consumer protocol

    async def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, caller: Caller
    ) -> ConsumerGroupHeartbeatResponse:
        """Returns the response to the member. Raises: ApiError."""
        self._check_consumer_protocol()
        await self.ensure_topic_and_check(request.group_id, may_be_empty=True)
        expressions = self._consumers.expressions_to_match(request.group_id, request.subscribed_topic_regex)
        if expressions:
            self._consumer_heartbeats.ensure_valid(request, caller.version)
            await self._core.run_in_worker(precompute_matches, expressions, self._lookup.names())
        if self._long_plans.is_long(request, self._timers.now_ms()):
            self._consumer_heartbeats.ensure_valid(request, caller.version)
            make = partial(self._consumer_heartbeats.plan_heartbeat, request, caller)
            return self._consumers.store_and_respond(await self._long_plans.plan_in_worker(request.group_id, make))
        return self._consumer_heartbeats.heartbeat(request, caller)

    async def describe_consumer(self, group_id: str, operations: int) -> consumer_group_describe.DescribedGroup:
        """State and members. Raises: ApiError GROUP_ID_NOT_FOUND when it is no consumer group."""
        self._check_consumer_protocol()
        await self.ensure_topic_and_check(group_id)
        group = self._consumers.get(group_id)
        return describe_consumer(group, operations, self.settings.assignors[0], self._lookup.name_of)

    def _check_consumer_protocol(self) -> None:
        if not self.settings.offers_consumer_protocol:
            message = "this broker has no consumer protocol: add `consumer` to group.coordinator.rebalance.protocols"
            raise ApiError(message, ErrorCode.UNSUPPORTED_VERSION)

    # Groups as a whole

    async def describe_classic(self, group_id: str, operations: int) -> DescribedGroup:
        """State and members; one that is no classic group is shown as dead. Raises: ApiError."""
        await self.ensure_topic_and_check(group_id, may_be_empty=True)
        group = self.groups.find(group_id)
        if isinstance(group, ClassicGroup):
            return describe_classic(group, operations)
        return describe_unknown_classic(group_id, operations)

    async def delete_group(self, group_id: str, turn: Turn) -> ErrorCode:
        """Deletes a group without members, with its offsets. Returns the error code."""
        tombstones = await self._commits.encode_tombstones(group_id, turn)
        try:
            await self.ensure_topic_and_check(group_id, may_be_empty=True)
            group = self.groups.get(group_id)
            refusal = DELETE[group.state] if isinstance(group, ClassicGroup) else None
            if refusal is not None or not group.is_empty:
                return refusal or ErrorCode.NON_EMPTY_GROUP
            self._commits.delete_group(group, tombstones)
        except ApiError as error:
            return error.code
        return ErrorCode.NONE

    # Offsets

    async def commit_offsets(self, committer: Committer, new: Sequence[NewOffset]) -> dict[TopicPartition, ErrorCode]:
        """Stores offsets, in the name of a transaction if the committer has a producer. Raises: ApiError."""
        await self.ensure_topic_and_check(committer.group_id, may_be_empty=True)
        return await self._commits.commit(committer, new)

    async def check_fetcher(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Raises: ApiError when this client may not read the group's offsets."""
        await self.ensure_topic_and_check(group_id, may_be_empty=True)
        self._commits.check_fetcher(group_id, member_id, member_epoch)

    def fetch_offset(self, group_id: str, topic: str, partition: int, *, stable: bool = False) -> CommittedOffset:
        """The offset that a group has committed; -1 if none. Raises: ApiError UNSTABLE_OFFSET_COMMIT."""
        return self._commits.fetch(group_id, topic, partition, stable=stable)

    def offsets_of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        return self._commits.offsets_of_group(group_id)

    async def delete_offsets(self, group_id: str, asked: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Deletes offsets; returns the error code of each partition. Raises: ApiError."""
        await self.ensure_topic_and_check(group_id)
        return self._commits.delete_offsets(group_id, asked)

    async def expire_offsets(self) -> None:
        """Deletes offsets that have outlived their retention, and groups without members and offsets."""
        turn = self._core.turns.begin()
        for group in self.groups:
            with self._core.rounds.catch_item_fault("offset expiry", group.group_id):
                await self._expire_group_offsets(group, turn)
            await turn.next()

    async def _expire_group_offsets(self, group: Group, turn: Turn) -> None:
        partition = self._topic.partition_of(group.group_id)
        if self._loading.is_loading(partition) or not self._topic.leads(partition):
            return
        expired = await self._commits.expire_offsets(group, turn)
        if expired:
            self._rebalancer.logger.log_info(group.group_id, "%d committed offsets expired", expired)

    # What is counted

    def rebalances_by_type(self) -> dict[str, int]:
        """How many rebalances gave a new generation or epoch, by the type of the group."""
        return {"classic": self._rebalancer.rebalances, "consumer": self._consumers.rebalances}

    def offset_changes_by_kind(self) -> dict[str, int]:
        """How many offsets were committed, expired and deleted."""
        commits = self._commits
        return {"committed": commits.committed, "expired": commits.expired, "deleted": commits.deleted}

    # Events elsewhere in the broker

    async def complete_transaction(
        self, producer_id: int, producer_epoch: int, *, committed: bool, partition: int, turn: Turn
    ) -> None:
        """Commits or drops the producer's pending offsets, after its marker was written to this offsets partition."""
        for group_id in self.offsets.groups_of_producer(producer_id):
            if self._topic.partition_of(group_id) == partition:
                self.offsets.end_transaction(group_id, producer_id, committed=committed)
                verb = "committed" if committed else "dropped"
                log.debug("group %s: offsets of producer %d, epoch %d %s", group_id, producer_id, producer_epoch, verb)
            await turn.next()

    def _on_topic_deletions(self, topics: Sequence[Topic]) -> asyncio.Task[None]:
        """Returns the task that deletes the topics' offsets of all groups. Consumer groups that read one look at their
        topics again."""
        names = {topic.name for topic in topics}
        if OFFSETS_TOPIC in names:
            self._forget_all()
        self._on_topic_changes(names)
        return self._deletions.begin(self._delete_offsets_of_topics(names, self._topic.end_offsets()))

    async def _delete_offsets_of_topics(self, names: Collection[str], ends: Mapping[int, int]) -> None:
        with self._core.rounds.catch_item_fault("deletion of offsets", plural(len(names), "topic")):
            await self._commits.delete_offsets_of_topics(names, ends, self._core.turns.begin())

    def _on_topic_changes(self, names: Collection[str]) -> None:
        """Consumer groups that read one of the topics look at their topics at the next heartbeat."""
        for group in self.groups:
            if isinstance(group, ConsumerGroup) and (group.uses_patterns or any(map(group.is_subscribed_to, names))):
                group.refresh_at_ms = 0

    def _on_epoch(self, partition: Partition) -> None:
        """A partition has a new leader: forgets its groups, and loads them again if that is this broker."""
        if partition.topic_name != OFFSETS_TOPIC:
            return
        index = partition.index
        self._loading.cancel(index)
        for group in self.groups:
            if self._topic.partition_of(group.group_id) == index:
                self._forget_group(group)
        if self._topic.has_records(index):
            self._loading.load([index])

    def _forget_all(self) -> None:
        self._loading.cancel_all()
        for group in self.groups:
            self._forget_group(group)

    def _forget_group(self, group: Group) -> None:
        self._answer_waiting_members(group)
        if isinstance(group, ConsumerGroup):
            self._consumers.timeouts.unwatch_all(group)
        self._commits.forget_group(group)
