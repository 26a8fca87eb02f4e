"""A member of a consumer group (KIP-848): what it asked for, and what it owns on its way to the target assignment."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final
from uuid import UUID

from ....protocol.coordinator.consumer_group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)
from ....protocol.coordinator.group_log import GroupRecord

LEFT_FOR_NOW: Final = -2
Assignment = Mapping[UUID, AbstractSet[int]]
NOTHING: Final[Assignment] = {}


class MemberState(IntEnum):
    """As stored in the current assignment record."""

    STABLE = 1
    UNREVOKED_PARTITIONS = 2
    UNRELEASED_PARTITIONS = 3
    UNKNOWN = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """It may use `assigned` and has to give back `revoking`. `classic`: set if it speaks the classic protocol."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] = ()
    topic_regex: str | None = None
    assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)

    @property
    def progress(self) -> tuple[int, MemberState, Assignment, Assignment]:
        """What a step of the reconciliation changes."""
        return self.epoch, self.state, self.assigned, self.revoking

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def after_step(
        self, epoch: int, state: MemberState, assigned: Assignment, revoking: Assignment
    ) -> "ConsumerMember":
        """Returns the member after a step of its reconciliation."""
        return replace(self, epoch=epoch, previous_epoch=self.epoch, state=state, assigned=assigned, revoking=revoking)

    def subscription_record(self, group_id: str) -> GroupRecord:
        value = ConsumerGroupMemberMetadataValue(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=self.topics,
            subscribed_topic_regex=self.topic_regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.assignor,
            classic_member_metadata=self.classic,
        )
        key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=self.member_id)
        return GroupRecord(key=key, value=value)

    def assignment_record(self, group_id: str) -> GroupRecord:
        value = ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=self.state,
            assigned_partitions=to_topic_partitions(self.assigned),
            partitions_pending_revocation=to_topic_partitions(self.revoking),
        )
        key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=self.member_id)
        return GroupRecord(key=key, value=value)

    def with_subscription(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerMember":
        """Returns the member with the fields of its stored subscription."""
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=tuple(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "ConsumerMember":
        """Returns the member with the fields of its stored current assignment."""
        known = value.state in (1, 2, 3)
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if known else MemberState.UNKNOWN,
            assigned=from_topic_partitions(value.assigned_partitions),
            revoking=from_topic_partitions(value.partitions_pending_revocation),
        )


def to_topic_partitions(assignment: Assignment) -> tuple[TopicPartitions, ...]:
    return tuple(
        TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
        for topic_id, partitions in assignment.items()
    )


def from_topic_partitions(listed: Iterable[TopicPartitions]) -> Assignment:
    """Partitions by topic; a topic that is listed twice has all of them."""
    assignment: dict[UUID, frozenset[int]] = {}
    for each in listed:
        assignment[each.topic_id] = assignment.get(each.topic_id, frozenset()) | frozenset(each.partitions)
    return {topic_id: partitions for topic_id, partitions in assignment.items() if partitions}


def sort_topics(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
