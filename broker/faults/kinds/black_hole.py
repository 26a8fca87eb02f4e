"""`black_hole`: the request is never answered."""

from dataclasses import dataclass
from typing import ClassVar

from ....network.answerer import CloseConnection
from ..fault import Fault
from ..fault_state import FaultState
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackHoleFault(Fault):
    """The request is read and never answered."""

    kind: ClassVar[str] = "black_hole"

    async def act_before(self, request: PassingRequest, state: FaultState) -> None:
        await request.hold(state.released)
        raise CloseConnection("a fault swallowed the request")
