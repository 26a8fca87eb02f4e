"""`black_hole`: the request is never answered."""

from dataclasses import dataclass
from typing import ClassVar

from ....network.answerer import CloseConnection
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackHoleFault(Fault):
    """The request is read and never answered."""

    kind: ClassVar[str] = "black_hole"

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> None:
        await request.hold_until(state.released)
        raise CloseConnection("a fault swallowed the request")
