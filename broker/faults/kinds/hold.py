"""`hold`: the request, or its answer, waits until it is released."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from ..fault import Fault, FaultPlace, field_with_parser
from ..fault_state import FaultState
from ..field_parsers import WHEN
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldFault(Fault):
    """The request, or its answer, waits until the fault is released or removed."""

    kind: ClassVar[str] = "hold"
    when: str = field_with_parser(WHEN, "before")

    def place(self, key: ApiKey) -> FaultPlace:
        return FaultPlace(self.when)

    async def act_before(self, request: PassingRequest, state: FaultState) -> None:
        await request.hold(state.released)

    async def act_after(self, request: PassingRequest, state: FaultState, response: Any) -> Any:
        await request.hold(state.released)
        return response
