"""From the classic protocol to the consumer protocol and back while a group has members
(group.consumer.migration.policy).

    upgrade     a member of the new protocol joins a classic group whose type is `consumer`: the generation becomes the
                epoch, what members own becomes current and target assignment, and they go on as classic members
    downgrade   the last member of the new protocol leaves: the epoch becomes the generation, targets become
                assignments, and the classic members rebalance

A group without members changes its protocol at any time. Source: Kafka 3.9, ConsumerGroup.fromClassicGroup and
ClassicGroup.fromConsumerGroup.
"""

from collections.abc import Callable, Iterable
from uuid import UUID

from ....protocol.coordinator.consumer_group_records import ClassicMemberMetadata, ClassicProtocol
from ....protocol.coordinator.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerAssignment,
    ConsumerTopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    protocol_version,
)
from ....protocol.coordinator.group_log import GroupRecord
from ....protocol.errors import ApiError, ErrorCode, MalformedFrame
from ....protocol.messages.join_group import JoinGroupRequestProtocol
from ..classic.group import ClassicGroup
from ..classic.member import ClassicMember, join_error, sync_error
from ..classic.state_table import ClassicGroupState
from ..consumer.changes import FindTopic
from ..consumer.group import ConsumerGroup, assignment_epoch_record, epoch_record, target_record
from ..consumer.member import NOTHING, Assignment, ConsumerMember
from ..group_settings import GroupSettings

FindName = Callable[[UUID], str | None]


class GroupConverter:
    """Turns groups of one protocol into groups of the other."""

    def __init__(self, settings: GroupSettings, find_topic: FindTopic, find_name: FindName) -> None:
        self._settings = settings
        self._find_topic = find_topic
        self._find_name = find_name

    # Upgrade

    def upgrade(self, classic: ClassicGroup) -> ConsumerGroup:
        """The consumer group that a classic one becomes. Raises: ApiError GROUP_ID_NOT_FOUND when it may not."""
        may = self._settings.may_upgrade and classic.uses_consumer_protocol and classic.generation >= 0
        if not may or len(classic.members) > self._settings.consumer_max_size:
            raise ApiError(f"group {classic.group_id} is a classic group", ErrorCode.GROUP_ID_NOT_FOUND)
        group = ConsumerGroup(classic.group_id)
        group.epoch = group.assignment_epoch = classic.generation
        try:
            for member in classic.members.values():
                upgraded = self._upgrade_member(member, classic)
                group.targets[member.member_id] = upgraded.assigned
                group.put_member(upgraded)
        except MalformedFrame as fault:
            message = f"group {classic.group_id} stays classic, a subscription of it cannot be read: {fault}"
            raise ApiError(message, ErrorCode.GROUP_ID_NOT_FOUND) from fault
        return group

    def _upgrade_member(self, member: ClassicMember, group: ClassicGroup) -> ConsumerMember:
        protocol = group.protocol_name or member.protocols[0].name
        subscription = decode_subscription(member.metadata(protocol))
        return ConsumerMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=subscription.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topics=tuple(subscription.topics),
            classic=classic_metadata(member.session_timeout_ms, member.protocols),
            epoch=group.generation,
            previous_epoch=group.generation,
            assigned=self.assignment_by_id(decode_assignment(member.assignment).assigned_partitions),
        )

    def upgrade_records(self, group: ConsumerGroup) -> list[GroupRecord]:
        """All records of an upgraded group; none for a group without members."""
        if not group.members:
            return []
        group_id, members = group.group_id, group.members.values()
        return [
            *(member.subscription_record(group_id) for member in members),
            epoch_record(group_id, group.epoch),
            *(target_record(group_id, member_id, target) for member_id, target in group.targets.items()),
            assignment_epoch_record(group_id, group.assignment_epoch),
            *(member.assignment_record(group_id) for member in members),
        ]

    def fail_waiting_requests(self, classic: ClassicGroup) -> None:
        """Answers all parked requests of the classic group with the error that makes members rejoin."""
        for member in classic.members.values():
            classic.answer_join(member, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
            member.answer_sync(sync_error(ErrorCode.REBALANCE_IN_PROGRESS))

    # Downgrade

    def is_to_downgrade(self, group: ConsumerGroup, leaving: ConsumerMember) -> bool:
        left = [member for member in group.members.values() if member.member_id != leaving.member_id]
        are_classic = bool(left) and all(member.classic is not None for member in left)
        fits = len(left) <= self._settings.max_size
        return are_classic and leaving.classic is None and self._settings.may_downgrade and fits

    def downgrade(self, group: ConsumerGroup, leaving: ConsumerMember, now_ms: int) -> ClassicGroup:
        """The classic group that a consumer group becomes when `leaving` goes."""
        classic = ClassicGroup(group.group_id, state_since_ms=now_ms)
        classic.generation = group.epoch
        for member in group.members.values():
            if member.member_id != leaving.member_id and member.classic is not None:
                classic.add_member(_downgrade_member(member, member.classic), PROTOCOL_TYPE)
        classic.state = ClassicGroupState.STABLE
        classic.protocol_name = classic.select_protocol()
        classic.subscribed_topics = classic.find_subscribed_topics()
        for each in classic.members.values():
            target = group.targets.get(each.member_id, NOTHING)
            each.assignment = self.encode_assignment(target, each.metadata(classic.protocol_name))
        return classic

    # Assignments by topic id and by name

    def assignment_by_id(self, named: Iterable[ConsumerTopicPartitions]) -> Assignment:
        """The assignment by topic id, without topics that do not exist."""
        found = ((self._find_topic(each.topic), each.partitions) for each in named)
        return {
            topic.topic_id: frozenset(partitions) for topic, partitions in found if topic is not None and partitions
        }

    def encode_assignment(self, assignment: Assignment, metadata: bytes) -> bytes:
        """Encodes the assignment for a consumer that sent `metadata` as its subscription."""
        named = ((self._find_name(topic_id), partitions) for topic_id, partitions in assignment.items())
        topics = tuple(
            ConsumerTopicPartitions(topic=name, partitions=tuple(sorted(partitions)))
            for name, partitions in named
            if name is not None
        )
        return encode_assignment(ConsumerAssignment(assigned_partitions=topics), protocol_version(metadata))


def classic_metadata(session_timeout_ms: int, protocols: Iterable[JoinGroupRequestProtocol]) -> ClassicMemberMetadata:
    """What a consumer group keeps of a member that speaks the classic protocol."""
    supported = tuple(ClassicProtocol(name=each.name, metadata=bytes(each.metadata)) for each in protocols)
    return ClassicMemberMetadata(session_timeout_ms=session_timeout_ms, supported_protocols=supported)


def _downgrade_member(member: ConsumerMember, classic: ClassicMemberMetadata) -> ClassicMember:
    return ClassicMember(
        member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=classic.session_timeout_ms,
        protocols=[
            JoinGroupRequestProtocol(name=each.name, metadata=each.metadata) for each in classic.supported_protocols
        ],
    )
