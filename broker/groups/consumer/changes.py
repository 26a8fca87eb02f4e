"""One change of a consumer group: its records are written in one batch, then applied to the group in memory.

    member's request -> subscription record -> topics record, group epoch + 1 -> target assignment, assignment epoch
    -> the member's next step towards it -> current assignment record

Each part is written only when it changed. Source: Kafka 3.9, GroupMetadataManager.consumerGroupHeartbeat.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from ....protocol.coordinator.consumer_group_records import TopicMetadata
from ....protocol.coordinator.group_log import EncodedGroupRecord, GroupRecord, encode_group_record
from ....protocol.errors import ApiError, ErrorCode
from ..group_settings import GroupSettings
from .assignors import ASSIGNORS
from .assignors.spec import MemberSpec
from .group import (
    LAST_EPOCH,
    ConsumerGroup,
    assignment_epoch_record,
    epoch_record,
    member_tombstones,
    target_record,
    topics_record,
)
from .member import Assignment, ConsumerMember
from .reconciliation import reconcile
from .topic_regex import compile_pattern

FindTopic = Callable[[str], TopicMetadata | None]
Topics = Mapping[str, TopicMetadata]
MaySee = Callable[[str], bool]
R = TypeVar("R")


@dataclass(slots=True)
class GroupChange:
    """`group`: as it is before the change. `records`: written, then applied to it.

    `prelude`: records that turn a classic group into this one; written first, and applied to `group` already.
    `stored`: functions to call once everything is written.
    """

    group: ConsumerGroup
    prelude: list[GroupRecord] = field(default_factory=list)
    records: list[GroupRecord] = field(default_factory=list)
    stored: list[Callable[[], None]] = field(default_factory=list)
    refresh_at_ms: int | None = None
    encoded: list[EncodedGroupRecord] = field(default_factory=list)

    def encode_records(self) -> None:
        """Encodes all records, ready to be written."""
        self.encoded = [encode_group_record(each) for each in (*self.prelude, *self.records)]


@dataclass(slots=True)
class ChangeWithResponse(Generic[R]):
    """A change of a group, and `finish`, to be called once it is stored, which returns the response."""

    change: GroupChange
    finish: Callable[[], R]


class GroupChangePlanner:
    """Plans what a request changes in a group, without changing it."""

    def __init__(
        self, settings: GroupSettings, find_topic: FindTopic, topic_names: Callable[[], Iterable[str]]
    ) -> None:
        """`topic_names`: the topics that a regular expression may match."""
        self._settings = settings
        self._find_topic = find_topic
        self._topic_names = topic_names

    def advance_member(
        self,
        change: GroupChange,
        before: ConsumerMember,
        after: ConsumerMember,
        owned: Assignment | None,
        now_ms: int,
        may_see: MaySee,
    ) -> ConsumerMember:
        """Returns `after`, moved one step towards its target. `before`: the member as it was. `owned`: what it reports.

        `may_see`: whether a regular expression of this client may match a topic, as in Kafka 4: the assignment would
        show it which topics exist.
        """
        group = change.group
        members = dict(group.members)
        forerunner = group.static_member(after.instance_id)
        if forerunner is not None:
            members.pop(forerunner.member_id)
        members[after.member_id] = after
        if after != before:
            change.records.append(after.subscription_record(group.group_id))
        is_new_subscription = (after.topics, after.topic_regex) != (before.topics, before.topic_regex)
        topics, epoch = self._refresh_topics(change, members.values(), is_new_subscription, now_ms, may_see)
        target_epoch, target = group.assignment_epoch, group.target_of(after)
        if epoch > target_epoch:
            target = self._make_target_assignment(change, members, topics)[after.member_id]
            target_epoch = epoch
            change.records.append(assignment_epoch_record(group.group_id, epoch))
        if after.is_reconciled_to(target_epoch):
            return after
        moved = reconcile(after, target_epoch, target, group.owner_epoch, owned)
        if moved != after:
            change.records.append(moved.assignment_record(group.group_id))
        return moved

    # Topics and the group's epoch

    def _refresh_topics(
        self, change: GroupChange, members: Iterable[ConsumerMember], is_new: bool, now_ms: int, may_see: MaySee
    ) -> tuple[Topics, int]:
        """The subscribed topics and the group epoch, renewed if a subscription changed or the refresh is due."""
        group = change.group
        if not is_new and group.refresh_at_ms > now_ms:
            return group.topics, group.epoch
        topics = self._find_subscribed_topics(members, may_see)
        if topics != group.topics:
            change.records.append(topics_record(group.group_id, topics.values()))
        elif not is_new:
            change.refresh_at_ms = now_ms + self._settings.consumer_metadata_refresh_ms
            return topics, group.epoch
        epoch = _next_epoch(group)
        change.records.append(epoch_record(group.group_id, epoch))
        change.refresh_at_ms = now_ms + self._settings.consumer_metadata_refresh_ms
        return topics, epoch

    def _find_subscribed_topics(self, members: Iterable[ConsumerMember], may_see: MaySee) -> Topics:
        present = tuple(members)
        names = set[str]().union(*{member.topics for member in present})
        patterns = {member.topic_regex for member in present if member.topic_regex}
        if patterns:
            present_names = self._topic_names()
            matching = set[str]().union(
                *(compile_pattern(pattern).matching_names(present_names) for pattern in patterns)
            )
            names.update(filter(may_see, matching))
        found = ((name, self._find_topic(name)) for name in sorted(names))
        return {name: topic for name, topic in found if topic is not None}

    # The target assignment

    def _make_target_assignment(
        self, change: GroupChange, members: dict[str, ConsumerMember], topics: Topics
    ) -> dict[str, Assignment]:
        group = change.group
        name = group.choose_assignor(members.values()) or self._settings.assignors[0]
        specs = _member_specs(group, members, topics)
        partitions = {topic.topic_id: topic.num_partitions for topic in topics.values()}
        targets = ASSIGNORS[name](specs, partitions)
        for member_id in sorted(targets):
            if targets[member_id] != group.targets.get(member_id):
                change.records.append(target_record(group.group_id, member_id, targets[member_id]))
        return targets

    # Members that go

    def remove_members(self, change: GroupChange, gone: Iterable[ConsumerMember]) -> None:
        """Removes members: the group's next epoch is without them."""
        group = change.group
        left = dict(group.members)
        for member in gone:
            left.pop(member.member_id, None)
            change.records += member_tombstones(group.group_id, member.member_id)
        topics = self._find_subscribed_topics(
            left.values(), group.topics.__contains__
        )  # no client asks: no other topics match
        if topics != group.topics:
            change.records.append(topics_record(group.group_id, topics.values()))
        change.records.append(epoch_record(group.group_id, min(group.epoch + 1, LAST_EPOCH)))

    def replace_static_member(self, change: GroupChange, old: ConsumerMember, new: ConsumerMember) -> None:
        """Replaces a static member by its successor with a new id, which takes over target and assignment."""
        group = change.group
        change.records += member_tombstones(group.group_id, old.member_id)
        change.records.append(new.subscription_record(group.group_id))
        change.records.append(target_record(group.group_id, new.member_id, group.target_of(old)))
        change.records.append(new.assignment_record(group.group_id))


def _next_epoch(group: ConsumerGroup) -> int:
    """Raises: ApiError after the last epoch. Kafka 3.9 goes on below zero, and assigns nothing from then on."""
    if group.epoch == LAST_EPOCH:
        message = f"group {group.group_id} has had all its {LAST_EPOCH} epochs: delete it, or take another group id"
        raise ApiError(message, ErrorCode.INVALID_REQUEST)
    return group.epoch + 1


def _member_specs(group: ConsumerGroup, members: Mapping[str, ConsumerMember], topics: Topics) -> dict[str, MemberSpec]:
    """The members as the assignor sees them. Members with the same subscription share one set of topics."""
    ids: dict[tuple[tuple[str, ...], str | None], frozenset[UUID]] = {}
    specs = {}
    for member_id, member in members.items():
        subscription = member.topics, member.topic_regex
        if subscription not in ids:
            ids[subscription] = _find_topic_ids(*subscription, topics)
        specs[member_id] = MemberSpec(
            topics=ids[subscription], instance_id=member.instance_id, current=group.target_of(member)
        )
    return specs


def _find_topic_ids(names: tuple[str, ...], regex: str | None, topics: Topics) -> frozenset[UUID]:
    read = topics.keys() & set(names)
    if regex:
        read |= compile_pattern(regex).matching_names(topics)
    return frozenset(topics[name].topic_id for name in read)
