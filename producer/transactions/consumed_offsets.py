"""What a consumer hands to a transaction: how far it read, and who it is in its group."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..accumulator.producer_batch import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadata:
    """The consumer whose offsets go with the transaction; with generation and member the group fences old ones."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None

    @property
    def names_a_member(self) -> bool:
        return self.generation >= 0 or bool(self.member_id) or self.instance_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetAndMetadata:
    """The next offset to read, the leader epoch of the one before (-1 unknown), and a text of the application."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


Offsets = Mapping[TopicPartition, OffsetAndMetadata | int]
"""(topic, partition) to the next offset to read."""
