"""Moves a partition to other brokers, and back when that is cancelled: computes the replica lists.

New replicas join the list and catch up; when all remaining ones are in the ISR, the removed ones leave the list
(`partition_change.py`). Source: Kafka 3.9 `PartitionReassignmentReplicas`, `PartitionReassignmentRevert` (KIP-455).
"""

from ...storage.metadata.partition_record import PartitionRecord
from .partition_change import Election, Ids, IsAcceptable, build_change, without


def reassign(before: PartitionRecord, target: Ids, is_acceptable: IsAcceptable) -> PartitionRecord | None:
    """The record with a reassignment to `target`, or with `target` if no replica has to catch up; None for no
    change.
    """
    removing = tuple(sorted(set(before.replicas) - set(target)))
    adding = tuple(sorted(set(target) - set(before.replicas)))
    return build_change(
        before,
        is_acceptable,
        replicas=target + removing,
        removing=removing or None,
        adding=adding or None,
    )


def cancel_reassignment(
    before: PartitionRecord, is_acceptable: IsAcceptable, *, may_be_unclean: bool
) -> PartitionRecord | None:
    """The record with the replicas from before the reassignment; None if that needs an unclean election that is not
    allowed.
    """
    replicas = without(before.replicas, before.adding)
    isr = without(before.isr, before.adding)
    if not isr:
        if not may_be_unclean:
            return None
        isr = replicas[:1]
    election = Election.UNCLEAN if may_be_unclean else Election.ONLINE
    return build_change(before, is_acceptable, isr=isr, replicas=replicas, adding=(), removing=(), election=election)
