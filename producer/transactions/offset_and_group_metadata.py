"""OffsetAndMetadata and GroupMetadata: how far a consumer read, and who it is in its group, for a transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..accumulator.producer_batch import TopicPartition
from ..record import ensure_valid


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadata:
    """The consumer whose offsets go with the transaction. If generation and member id are given, the coordinator
    refuses a member that has been replaced."""

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

MAX_OFFSET: Final = 2**63 - 1


def normalize_offsets(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets by place. Raises: TypeError, ValueError for what no request can hold."""
    if not isinstance(offsets, Mapping):
        raise TypeError(f"offsets are a mapping of (topic, partition) to offset, found {type(offsets).__name__}")
    places = {}
    for at, given in offsets.items():
        if not (isinstance(at, tuple) and len(at) == 2):
            raise TypeError(f"offsets are by (topic, partition), found {at!r}")
        place = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(offset=given)
        ensure_valid(*at, None)
        if not isinstance(place.offset, int):
            raise TypeError(f"the offset of {at} is an int or an OffsetAndMetadata, found {place.offset!r}")
        if not 0 <= place.offset <= MAX_OFFSET:
            raise ValueError(f"the offset of {at} is {place.offset}, negative or no 64-bit number")
        places[at] = place
    return places
