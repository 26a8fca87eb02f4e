"""A classic group: its members, the generation, the protocol they agree on. It knows no clock, timer or log.

    generation 0 is a group that never rebalanced; each completed join phase adds 1, also the one that leaves nobody;
    after 2147483647 comes -2147483648, as in Java
    leader: the member that was added first, kept while it rejoins
    protocol: of the protocols that all members support, the one that most members prefer

Source: Kafka 3.9, ClassicGroup.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from ....protocol.coordinator.consumer_protocol import PROTOCOL_TYPE, decode_subscription
from ....protocol.coordinator.group_log import GroupRecord
from ....protocol.coordinator.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from ....protocol.errors import ApiError, ErrorCode, MalformedFrame
from ....protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from .member import ClassicMember, JoinAnswer, join_error, sync_error
from .state_table import NEXT, ClassicGroupState

UNKNOWN_MEMBER = ""
LAST_GENERATION, FIRST_GENERATION = 2**31 - 1, -(2**31)


class ClassicGroup:
    """The state of one group. `state_since_ms`: when it entered that state, None if its stored record does not say."""

    type_name = "classic"

    def __init__(self, group_id: str, *, state_since_ms: int | None) -> None:
        self.group_id = group_id
        self.state = ClassicGroupState.EMPTY
        self.previous_state = ClassicGroupState.DEAD
        self.state_since_ms = state_since_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.pending_members: set[str] = set()
        self.pending_syncs: set[str] = set()
        self.subscribed_topics: frozenset[str] | None = None
        self.joined_since_delay = False
        self._static: dict[str, str] = {}
        self._supported: Counter[str] = Counter()
        self._joins_waiting = 0

    # Members

    def add_member(self, member: ClassicMember, protocol_type: str, answer: JoinAnswer | None = None) -> None:
        """Adds a member; the first of all becomes the leader and sets the protocol type."""
        if not self.members:
            self.protocol_type = protocol_type
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supported.update(member.protocol_names)
        self.pending_members.discard(member.member_id)
        self.park_join(member, answer)

    def remove_member(self, member_id: str) -> None:
        """Forgets a member, pending or not, if there is one of that id."""
        self.pending_members.discard(member_id)
        self.pending_syncs.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._supported -= Counter(member.protocol_names)
        if member.instance_id is not None:
            self._static.pop(member.instance_id, None)
        self._joins_waiting -= member.awaiting_join is not None
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def update_member(self, member: ClassicMember, request: JoinGroupRequest, answer: JoinAnswer | None) -> None:
        """Takes over protocols and timeouts of a member's new JoinGroup, and parks it."""
        self.set_protocols(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        self.park_join(member, answer)

    def set_protocols(self, member: ClassicMember, protocols: Sequence[JoinGroupRequestProtocol]) -> None:
        self._supported -= Counter(member.protocol_names)
        member.protocols = tuple(protocols)
        self._supported.update(member.protocol_names)

    def replace_static_member(self, instance_id: str, new_member_id: str) -> ClassicMember:
        """Returns the static member with its new id. Requests parked under the old id get FENCED_INSTANCE_ID."""
        old_member_id = self._static[instance_id]
        member = self.members.pop(old_member_id)
        self.pending_syncs.discard(old_member_id)
        self.answer_join(member, join_error(ErrorCode.FENCED_INSTANCE_ID, old_member_id))
        member.answer_sync(sync_error(ErrorCode.FENCED_INSTANCE_ID))
        member.member_id = new_member_id
        self.members[new_member_id] = member
        self._static[instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        return member

    def static_member_id(self, instance_id: str | None) -> str | None:
        return None if instance_id is None else self._static.get(instance_id)

    def check_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member. Raises: ApiError FENCED_INSTANCE_ID if another holds the instance id, or UNKNOWN_MEMBER_ID."""
        if instance_id is not None:
            holder = self._static.get(instance_id)
            if holder is not None and holder != member_id:
                message = f"instance {instance_id} of group {self.group_id} is {holder} now, not {member_id}"
                raise ApiError(message, ErrorCode.FENCED_INSTANCE_ID)
            if holder is None:
                raise ApiError(f"group {self.group_id} has no static member {instance_id}", ErrorCode.UNKNOWN_MEMBER_ID)
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(f"group {self.group_id} has no member {member_id!r}", ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def check_generation(self, generation: int) -> None:
        """Raises ApiError ILLEGAL_GENERATION when it is not the current one."""
        if generation != self.generation:
            message = f"generation {generation} of group {self.group_id}, which is at {self.generation}"
            raise ApiError(message, ErrorCode.ILLEGAL_GENERATION)

    # The join phase

    def park_join(self, member: ClassicMember, answer: JoinAnswer | None) -> None:
        """Parks the member's JoinGroup. One parked before is refused: its client has given up that connection."""
        self.answer_join(member, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        member.awaiting_join = answer
        self._joins_waiting += answer is not None

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> bool:
        """Returns whether a JoinGroup was parked."""
        answer, member.awaiting_join = member.awaiting_join, None
        if answer is None:
            return False
        self._joins_waiting -= 1
        if not answer.done():
            answer.set_result(response)
        return True

    @property
    def waiting_join_count(self) -> int:
        return self._joins_waiting

    @property
    def have_all_joined(self) -> bool:
        return len(self.members) == self._joins_waiting and not self.pending_members

    def elect_joining_leader(self) -> bool:
        """Returns whether a member that has joined leads the group. Keeps the old leader if it has joined."""
        leader = self.members.get(self.leader_id or "")
        if leader is None:
            return False
        if leader.awaiting_join is None:
            joined = next((each for each in self.members.values() if each.awaiting_join is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def start_generation(self, now_ms: int) -> None:
        """Ends the join phase. The group becomes CompletingRebalance, or Empty if it has no members."""
        self.generation = FIRST_GENERATION if self.generation == LAST_GENERATION else self.generation + 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.find_subscribed_topics()
        self.move_to(ClassicGroupState.COMPLETING_REBALANCE if self.members else ClassicGroupState.EMPTY, now_ms)
        self.pending_syncs.clear()

    def move_to(self, state: ClassicGroupState, now_ms: int) -> None:
        if state not in NEXT[self.state]:
            raise RuntimeError(f"group {self.group_id} cannot go from {self.state.value} to {state.value}")
        self.previous_state, self.state = self.state, state
        self.state_since_ms = now_ms

    # Protocols

    def supports_protocols(self, protocol_type: str, protocols: Iterable[JoinGroupRequestProtocol]) -> bool:
        """Whether one of these protocols is supported by all present members."""
        names = [protocol.name for protocol in protocols]
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and any(self._supported[name] == len(self.members) for name in names)

    def select_protocol(self) -> str:
        """The protocol of the next generation; ties go to the first member's choice."""
        candidates = {name for name, count in self._supported.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    def find_subscribed_topics(self) -> frozenset[str] | None:
        """The topics that the members subscribe to; None if the broker cannot read the subscriptions."""
        if not self.uses_consumer_protocol:
            return None
        if self.members and self.protocol_name is None:
            return None
        topics: set[str] = set()
        try:
            for member in self.members.values():
                topics.update(decode_subscription(member.metadata(self.protocol_name), newest=0).topics)
        except MalformedFrame:
            return None
        return frozenset(topics)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic; a consumer group whose subscriptions cannot be read may read any."""
        return self.uses_consumer_protocol if self.subscribed_topics is None else topic in self.subscribed_topics

    # Answers and records

    def join_response(
        self, member_id: str, *, with_members: bool, skip_assignment: bool = False, leader: str | None = None
    ) -> JoinGroupResponse:
        """Describes the current generation to a member. `leader`: the member id to name in place of the leader's."""
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=(self.leader_id or "") if leader is None else leader,
            member_id=member_id,
            skip_assignment=skip_assignment,
            members=self._members_with_metadata() if with_members else (),
        )

    def _members_with_metadata(self) -> tuple[JoinGroupResponseMember, ...]:
        return tuple(
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        )

    def to_record(self, assignments: dict[str, bytes] | None = None) -> GroupRecord:
        """The group's record for `__consumer_offsets`, with `assignments` by member id, or those in force."""
        members = tuple(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(self.protocol_name),
                assignment=member.assignment if assignments is None else assignments.get(member.member_id, b""),
            )
            for member in self.members.values()
        )
        value = GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=-1 if self.state_since_ms is None else self.state_since_ms,
            members=members,
        )
        return GroupRecord(key=GroupMetadataKey(group=self.group_id), value=value)

    def tombstones(self) -> list[GroupRecord]:
        return [GroupRecord(key=GroupMetadataKey(group=self.group_id), value=None)]

    @property
    def is_unused(self) -> bool:
        """Whether nobody has ever joined or holds a member id to join with."""
        return (
            self.generation == 0
            and self.state is ClassicGroupState.EMPTY
            and not self.members
            and not self.pending_members
        )

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    @property
    def state_name(self) -> str:
        return self.state.value


def load_classic_group(value: GroupMetadataValue, group_id: str) -> ClassicGroup:
    """The group as it was stored: Stable when it had members, else Empty."""
    since = value.current_state_timestamp
    group = ClassicGroup(group_id, state_since_ms=None if since == -1 else since)
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.leader_id = value.leader
    for stored in value.members:
        group.add_member(_load_member(stored, value.protocol or ""), value.protocol_type)
    if value.members:
        group.state = ClassicGroupState.STABLE
    group.subscribed_topics = group.find_subscribed_topics()
    return group


def _load_member(stored: MemberMetadata, protocol: str) -> ClassicMember:
    rebalance_timeout = stored.rebalance_timeout
    return ClassicMember(
        stored.member_id,
        instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.session_timeout if rebalance_timeout == -1 else rebalance_timeout,
        session_timeout_ms=stored.session_timeout,
        protocols=(JoinGroupRequestProtocol(name=protocol, metadata=bytes(stored.subscription)),),
        assignment=bytes(stored.assignment),
    )
