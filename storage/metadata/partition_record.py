"""The replicas, ISR and leader of a partition, as the controller decides and stores them.

Source: Kafka 3.9 `PartitionRegistration`.
"""

from dataclasses import dataclass
from uuid import UUID

from ..log.leader_epochs import LAST_EPOCH

NO_LEADER = -1


def next_epoch(epoch: int) -> int:
    """The next epoch. The highest one stays: Kafka's next one would be negative, which fences every client."""
    return min(epoch + 1, LAST_EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """`replicas`: broker ids, the preferred leader first; empty if they are not known. `isr`: a subset of them.

    Each change increments `partition_epoch`, and one that names a leader increments `leader_epoch` too. `directories`:
    the id of each replica's log directory, or empty. The fields after it are only stored (KIP-704, KIP-966).
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    directories: tuple[UUID, ...] = ()
    recovery_state: int = 0
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    def has_all_records(self, node_id: int) -> bool:
        """Whether that replica may lead without loss: it is in the ISR or the ELR (KIP-966)."""
        return node_id in self.isr or node_id in self.eligible_leader_replicas

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)
