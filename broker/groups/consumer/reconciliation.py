"""Moves a member of a consumer group from its current to its target assignment.

    state                  on a heartbeat
    Stable                 nothing, unless the target is newer
    UnrevokedPartitions    nothing, until the member reports that it has given back all that it has to
    UnreleasedPartitions   takes what others have given back meanwhile

Each step: keep = assigned and in the target; give back = only assigned; take = only in the target, owned by nobody.

    something to give back     stay in the old epoch, UnrevokedPartitions
    nothing                    to the target's epoch with keep and take, UnreleasedPartitions while others have the rest

Source: Kafka 3.9, CurrentAssignmentBuilder.
"""

from collections.abc import Callable
from uuid import UUID

from ....protocol.errors import ApiError, ErrorCode
from .group import NOT_OWNED
from .member import Assignment, ConsumerMember, MemberState

OwnerEpoch = Callable[[UUID, int], int]


def reconcile(
    member: ConsumerMember, target_epoch: int, target: Assignment, owner_epoch: OwnerEpoch, owned: Assignment | None
) -> ConsumerMember:
    """The member after this heartbeat; `owned` is what it reports, None when it reports nothing.

    Raises: ApiError FENCED_MEMBER_EPOCH when it was stored in a state that is not known here.
    """
    match member.state:
        case MemberState.STABLE:
            if member.epoch == target_epoch:
                return member
            return _compute_next_assignment(member, member.epoch, target_epoch, target, owner_epoch, owned)
        case MemberState.UNREVOKED_PARTITIONS:
            if _still_owns(owned, member.revoking):
                return member
            return _compute_next_assignment(
                member, min(member.epoch + 1, target_epoch), target_epoch, target, owner_epoch, owned
            )
        case MemberState.UNRELEASED_PARTITIONS:
            return _compute_next_assignment(member, member.epoch, target_epoch, target, owner_epoch, owned)
        case _:
            if owned is None or owned:
                message = f"member {member.member_id} is in an unknown state and has to begin anew"
                raise ApiError(message, ErrorCode.FENCED_MEMBER_EPOCH)
            return _compute_next_assignment(member, target_epoch, target_epoch, target, owner_epoch, owned)


def _compute_next_assignment(
    member: ConsumerMember,
    epoch: int,
    target_epoch: int,
    target: Assignment,
    owner_epoch: OwnerEpoch,
    owned: Assignment | None,
) -> ConsumerMember:
    keep: dict[UUID, frozenset[int]] = {}
    give_back: dict[UUID, frozenset[int]] = {}
    free: dict[UUID, frozenset[int]] = {}
    waits = False
    for topic_id in {*target, *member.assigned}:
        wanted = frozenset(target.get(topic_id, ()))
        present = frozenset(member.assigned.get(topic_id, ()))
        missing = wanted - present
        available = frozenset(each for each in missing if owner_epoch(topic_id, each) == NOT_OWNED)
        waits = waits or available != missing
        _add_unless_empty(keep, topic_id, present & wanted)
        _add_unless_empty(give_back, topic_id, present - wanted)
        _add_unless_empty(free, topic_id, available)
    if give_back and _still_owns(owned, give_back):
        return member.after_step(epoch, MemberState.UNREVOKED_PARTITIONS, keep, give_back)
    for topic_id, partitions in free.items():
        keep[topic_id] = keep.get(topic_id, frozenset()) | partitions
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return member.after_step(target_epoch, state, keep, {})


def _add_unless_empty(assignment: dict[UUID, frozenset[int]], topic_id: UUID, partitions: frozenset[int]) -> None:
    if partitions:
        assignment[topic_id] = partitions


def _still_owns(owned: Assignment | None, revoked: Assignment) -> bool:
    """A member that does not say what it owns may still own everything."""
    if owned is None:
        return True
    return any(not revoked.get(topic_id, frozenset()).isdisjoint(partitions) for topic_id, partitions in owned.items())
