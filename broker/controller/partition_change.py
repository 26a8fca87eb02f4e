"""Makes a partition's new record when its ISR, its replicas or the living brokers change.

The steps (Kafka 3.9 `PartitionChangeBuilder`): complete a reassignment, elect a leader, keep the old ISR instead of an
empty one, raise the leader epoch if the leader changes or a replica is removed.

    election     the leader
    online       the present one while it is acceptable and in the ISR, else the first such replica in list order
    preferred    the first replica of the list if it is acceptable and in the ISR, else as above
    unclean      as online; with nobody in the ISR the first acceptable replica, which then is the ISR alone
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto

from ...storage.metadata.partition_record import NO_LEADER, PartitionRecord, next_epoch

Ids = tuple[int, ...]
IsAcceptable = Callable[[int], bool]


class Election(Enum):
    """The kind of election of a leader."""

    ONLINE = auto()
    PREFERRED = auto()
    UNCLEAN = auto()


def build_change(
    before: PartitionRecord,
    is_acceptable: IsAcceptable,
    *,
    isr: Ids | None = None,
    replicas: Ids | None = None,
    adding: Ids | None = None,
    removing: Ids | None = None,
    election: Election = Election.ONLINE,
) -> PartitionRecord | None:
    """The record with these changes and an acceptable leader; None when nothing changes."""
    wanted = replace(
        before,
        isr=before.isr if isr is None else isr,
        replicas=before.replicas if replicas is None else replicas,
        adding=before.adding if adding is None else adding,
        removing=before.removing if removing is None else removing,
    )
    wanted = _complete_reassignment(wanted)
    leader, is_unclean = _elect(wanted, is_acceptable, election)
    if is_unclean:
        wanted = replace(wanted, isr=(leader,))
    elif not wanted.isr:
        wanted = replace(wanted, isr=before.isr)
    names_leader = leader != before.leader or not set(before.replicas) <= set(wanted.replicas)
    if wanted == before and not names_leader:
        return None
    return (
        with_leader(wanted, leader)
        if names_leader
        else replace(wanted, partition_epoch=next_epoch(before.partition_epoch))
    )


def with_leader(record: PartitionRecord, leader: int) -> PartitionRecord:
    """The record with this leader, which raises both epochs even if it is the present one."""
    return replace(
        record,
        leader=leader,
        leader_epoch=next_epoch(record.leader_epoch),
        partition_epoch=next_epoch(record.partition_epoch),
    )


def _complete_reassignment(wanted: PartitionRecord) -> PartitionRecord:
    """The record without the removed replicas, once all remaining ones are in the ISR."""
    if not wanted.is_being_reassigned:
        return wanted
    isr = without(wanted.isr, wanted.removing)
    replicas = without(wanted.replicas, wanted.removing)
    if not isr or not replicas or not set(replicas) <= set(isr):
        return wanted
    return replace(wanted, isr=isr, replicas=replicas, adding=(), removing=())


def _elect(wanted: PartitionRecord, is_acceptable: IsAcceptable, election: Election) -> tuple[int, bool]:
    """Returns the leader, and whether committed records may be lost with it."""

    def is_valid(replica: int) -> bool:
        return replica in wanted.isr and is_acceptable(replica)

    preferred = wanted.replicas[0]
    if election is Election.PREFERRED and is_valid(preferred):
        return preferred, False
    if is_valid(wanted.leader):
        return wanted.leader, False
    for replica in wanted.replicas:
        if is_valid(replica):
            return replica, False
    if election is Election.UNCLEAN:
        for replica in wanted.replicas:
            if is_acceptable(replica):
                return replica, True
    return NO_LEADER, False


def without(ids: Ids, gone: Sequence[int]) -> Ids:
    """Those of `ids` that are not gone, in their order."""
    return tuple(each for each in ids if each not in gone)
