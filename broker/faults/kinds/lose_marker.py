"""`lose_marker`: a transaction that hangs in one partition."""

from dataclasses import dataclass
from typing import ClassVar

from ....protocol.api import ApiKey
from ..fault import OF_REQUESTS, Fault, FaultStage


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseMarkerFault(Fault):
    """The end of a transaction does not reach a partition, where it stays open."""

    kind: ClassVar[str] = "lose_marker"
    missing_fields: ClassVar[tuple[str, ...]] = OF_REQUESTS

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.NOWHERE
