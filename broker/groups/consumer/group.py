"""A consumer group (KIP-848). Its state changes only by applying records of `__consumer_offsets`.

    group epoch        grows when members, their subscriptions or the subscribed topics change
    assignment epoch   the group epoch for which the target assignment was made
    member epoch       how far a member has come; it reaches the assignment epoch once it has given back what others get

    state              Empty: no members | Assigning: the target is older than the group |
                       Reconciling: some member is not there yet | Stable

Source: Kafka 3.9, ConsumerGroup and ModernGroup.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from ....protocol.coordinator import consumer_group_records as records
from ....protocol.coordinator.group_log import GroupRecord
from .member import NOTHING, Assignment, ConsumerMember, from_topic_partitions, to_topic_partitions

NOT_OWNED: Final = -1
LAST_EPOCH: Final = 2**31 - 1


class ConsumerGroup:
    """`topics`: the subscribed topics of the group epoch, by name. `partitions`: how many they have in all.
    `refresh_at_ms`: when to look at the topics again. `changes`: grows with each change of the group.
    """

    type_name = "consumer"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.assignment_epoch = 0
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, Assignment] = {}
        self.topics: Mapping[str, records.TopicMetadata] = {}
        self.partitions = 0
        self.refresh_at_ms = 0
        self.changes = 0
        self._static: dict[str, str] = {}
        self._owners: dict[tuple[UUID, int], int] = {}

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def is_empty(self) -> bool:
        return not self.members

    protocol_type: Final = "consumer"

    # What members own

    def owner_epoch(self, topic_id: UUID, partition: int) -> int:
        """The epoch of the member that owns, or has not given back, a partition; -1 when nobody does."""
        return self._owners.get((topic_id, partition), NOT_OWNED)

    def target_of(self, member: ConsumerMember) -> Assignment:
        """A member's target assignment; the new holder of an instance id inherits that of the old one."""
        target = self.targets.get(member.member_id)
        if target is None and member.instance_id is not None:
            target = self.targets.get(self._static.get(member.instance_id, ""))
        return NOTHING if target is None else target

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = None if instance_id is None else self._static.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    # Subscriptions

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member subscribes to the topic, which need not exist."""
        if topic in self.topics and self.members:
            return True
        return any(topic in member.topics for member in self.members.values())

    @property
    def uses_patterns(self) -> bool:
        """Whether a member subscribes by a regular expression, which a new topic may match."""
        return any(member.topic_regex for member in self.members.values())

    def choose_assignor(self, members: Iterable[ConsumerMember]) -> str | None:
        """The assignor that most of `members` name; in a tie of uniform and range, uniform, as in Kafka."""
        votes = Counter(member.assignor for member in members if member.assignor is not None)
        return max(votes, key=lambda name: (votes[name], name), default=None)

    # Members that speak the classic protocol

    def classic_members(self) -> list[ConsumerMember]:
        return [member for member in self.members.values() if member.classic is not None]

    def supports_classic(self, protocol_type: str, names: Sequence[str]) -> bool:
        """Whether one of these protocols is supported by all classic members."""
        if protocol_type != self.protocol_type or not names:
            return False
        common: set[str] | None = None
        for member in self.classic_members():
            theirs = {each.name for each in member.classic.supported_protocols} if member.classic else set()
            common = theirs if common is None else common & theirs
        return common is None or any(name in common for name in names)

    # Records

    def apply(self, record: GroupRecord) -> None:
        """Applies one record of the group."""
        self.changes += 1
        key, value = record.key, record.value
        match key:
            case records.ConsumerGroupMetadataKey():
                self.epoch = 0 if value is None else value.epoch
            case records.ConsumerGroupPartitionMetadataKey():
                self.topics = {} if value is None else {topic.topic_name: topic for topic in value.topics}
                self.partitions = sum(topic.num_partitions for topic in self.topics.values())
            case records.ConsumerGroupTargetAssignmentMetadataKey():
                self.assignment_epoch = 0 if value is None else value.assignment_epoch
            case records.ConsumerGroupTargetAssignmentMemberKey():
                self._apply_target(key.member_id, value)
            case records.ConsumerGroupMemberMetadataKey():
                self._apply_subscription(key.member_id, value)
            case records.ConsumerGroupCurrentMemberAssignmentKey():
                self._apply_assignment(key.member_id, value)

    def _apply_target(self, member_id: str, value: records.ConsumerGroupTargetAssignmentMemberValue | None) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = from_topic_partitions(value.topic_partitions)

    def _apply_subscription(self, member_id: str, value: records.ConsumerGroupMemberMetadataValue | None) -> None:
        member = self.members.get(member_id)
        if value is not None:
            self.put_member(
                ConsumerMember(member_id=member_id).with_subscription(value)
                if member is None
                else member.with_subscription(value)
            )
        elif member is not None:
            self._disown(member)
            del self.members[member_id]
            if member.instance_id is not None and self._static.get(member.instance_id) == member_id:
                del self._static[member.instance_id]

    def _apply_assignment(
        self, member_id: str, value: records.ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        """A tombstone removes the member's partitions; the tombstone of its subscription removes the member."""
        member = self.members.get(member_id)
        if value is not None:
            self.put_member((member or ConsumerMember(member_id=member_id)).with_assignment(value))
        elif member is not None:
            fresh = records.ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=-1, previous_member_epoch=-1, state=1
            )
            self.put_member(member.with_assignment(fresh))

    def put_member(self, member: ConsumerMember) -> None:
        self.changes += 1
        before = self.members.get(member.member_id)
        if before is not None:
            self._disown(before)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        for where in _partitions_of(member):
            self._owners[where] = member.epoch

    def _disown(self, member: ConsumerMember) -> None:
        """Ends the ownership of the member's partitions, but of those that have a newer owner."""
        for where in _partitions_of(member):
            if self._owners.get(where) == member.epoch:
                del self._owners[where]

    def tombstones(self) -> list[GroupRecord]:
        """The tombstones of all records of the group, those of members first."""
        group_id = self.group_id
        return [
            *(tombstone for member_id in self.members for tombstone in member_tombstones(group_id, member_id)),
            _tombstone(records.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)),
            _tombstone(records.ConsumerGroupPartitionMetadataKey(group_id=group_id)),
            _tombstone(records.ConsumerGroupMetadataKey(group_id=group_id)),
        ]


def _partitions_of(member: ConsumerMember) -> Iterable[tuple[UUID, int]]:
    for owned in (member.assigned, member.revoking):
        for topic_id, partitions in owned.items():
            for partition in partitions:
                yield topic_id, partition


def _tombstone(key: object) -> GroupRecord:
    return GroupRecord(key=key, value=None)


def member_tombstones(group_id: str, member_id: str) -> list[GroupRecord]:
    """The tombstones of all records of a member."""
    return [
        _tombstone(records.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)),
        _tombstone(records.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)),
        _tombstone(records.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def epoch_record(group_id: str, epoch: int) -> GroupRecord:
    key = records.ConsumerGroupMetadataKey(group_id=group_id)
    return GroupRecord(key=key, value=records.ConsumerGroupMetadataValue(epoch=epoch))


def assignment_epoch_record(group_id: str, epoch: int) -> GroupRecord:
    key = records.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    value = records.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
    return GroupRecord(key=key, value=value)


def topics_record(group_id: str, topics: Iterable[records.TopicMetadata]) -> GroupRecord:
    key = records.ConsumerGroupPartitionMetadataKey(group_id=group_id)
    return GroupRecord(key=key, value=records.ConsumerGroupPartitionMetadataValue(topics=tuple(topics)))


def target_record(group_id: str, member_id: str, target: Assignment) -> GroupRecord:
    key = records.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    value = records.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=to_topic_partitions(target))
    return GroupRecord(key=key, value=value)
