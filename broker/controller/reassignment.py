"""Moving a partition to other brokers: the replica lists on the way there, and on the way back when it is cancelled.

New replicas join the list and catch up; when all that stay are in the ISR, those that go leave the list
(`partition_change.py`). Source: Kafka 3.9 `PartitionReassignmentReplicas`, `PartitionReassignmentRevert` (KIP-455).
"""

from ...storage.metadata.partition_record import PartitionRecord
from .partition_change import Election, Ids, IsAcceptable, change, without


def reassign(before: PartitionRecord, target: Ids, is_acceptable: IsAcceptable) -> PartitionRecord | None:
    """The record on its way to `target`, or there already if nobody has to catch up; None when nothing changes."""
    removing = tuple(sorted(set(before.replicas) - set(target)))
    adding = tuple(sorted(set(target) - set(before.replicas)))
    return change(
        before,
        is_acceptable,
        replicas=target + removing,
        removing=removing or None,
        adding=adding or None,
    )


def cancel_reassignment(
    before: PartitionRecord, is_acceptable: IsAcceptable, *, may_be_unclean: bool
) -> PartitionRecord | None:
    """The record with the replicas it had before; None when only an unclean election would bring them back."""
    replicas = without(before.replicas, before.adding)
    isr = without(before.isr, before.adding)
    if not isr:
        if not may_be_unclean:
            return None
        isr = replicas[:1]
    election = Election.UNCLEAN if may_be_unclean else Election.ONLINE
    return change(before, is_acceptable, isr=isr, replicas=replicas, adding=(), removing=(), election=election)
