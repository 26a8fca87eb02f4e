"""Who has a partition and who leads it, as the controller of a cluster decides and remembers it.

In the document of `cluster_state.py`, a list for each partition of a topic, its empty ends left out:

    [[1, 2, 3], [1, 3], 1, 4, 9, [], []]    replicas, isr, leader, leader epoch, partition epoch, adding, removing

Source: Kafka 3.9 `PartitionRegistration`.
"""

from dataclasses import dataclass
from typing import Any

NO_LEADER = -1
NUMBERS = 3
LISTS_BEFORE_NUMBERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """`replicas` are broker ids, the preferred leader first; `isr` is a subset; `leader` is NO_LEADER for none.

    Each change raises `partition_epoch`, each that names a leader `leader_epoch` too.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)


def encode_record(record: PartitionRecord) -> list[Any]:
    """The list of this record."""
    numbers = record.leader, record.leader_epoch, record.partition_epoch
    reassignment = [list(record.adding), list(record.removing)] if record.is_being_reassigned else []
    return [list(record.replicas), list(record.isr), *numbers, *reassignment]


def decode_record(value: object) -> PartitionRecord:
    """The record behind a list. Raises: ValueError."""
    if not isinstance(value, list) or len(value) < LISTS_BEFORE_NUMBERS + NUMBERS:
        raise ValueError(f"replicas, isr, leader and two epochs expected, found {value!r}")
    replicas, isr, leader, leader_epoch, partition_epoch, *reassignment = value
    numbers = leader, leader_epoch, partition_epoch
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise ValueError(f"a leader and two epochs expected, found {numbers!r}")
    adding, removing = reassignment if reassignment else ((), ())
    return PartitionRecord(
        replicas=_ids(replicas),
        isr=_ids(isr),
        leader=leader,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        adding=_ids(adding),
        removing=_ids(removing),
    )


def _ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not all(type(each) is int and each >= 0 for each in value):
        raise ValueError(f"broker ids expected, found {value!r}")
    return tuple(value)
