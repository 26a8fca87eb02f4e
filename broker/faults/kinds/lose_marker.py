"""`lose_marker`: a transaction that hangs in one partition."""

from dataclasses import dataclass
from typing import ClassVar

from ....protocol.api import ApiKey
from ..fault import Fault, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseMarkerFault(Fault):
    """The end of a transaction does not reach a partition, where it stays open."""

    kind: ClassVar[str] = "lose_marker"
    is_for_requests: ClassVar[bool] = False

    def place(self, key: ApiKey) -> Place:
        return Place.NOWHERE
