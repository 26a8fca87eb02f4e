"""Who has a partition and who leads it, as the controller decides and remembers it.

Source: Kafka 3.9 `PartitionRegistration`.
"""

from dataclasses import dataclass
from uuid import UUID

from ..log.leader_epochs import LAST_EPOCH

NO_LEADER = -1


def next_epoch(epoch: int) -> int:
    """The epoch after this one. The last one stays: one below zero, which Kafka comes to, fences every client."""
    return min(epoch + 1, LAST_EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """`replicas` are broker ids, the preferred leader first; `isr` is a subset; `leader` is NO_LEADER for none.

    Each change raises `partition_epoch`, each that names a leader `leader_epoch` too. No replicas: those that had the
    partition are not known. `directories`: the id of the log directory of each replica, or nothing. What follows is
    only kept (KIP-704, KIP-966).
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
        """Whether that replica may lead without loss: it is in the ISR, or was when it stopped (KIP-966, the ELR)."""
        return node_id in self.isr or node_id in self.eligible_leader_replicas

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)
