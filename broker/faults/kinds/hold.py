"""`hold`: the request, or its answer, waits until it is released."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import WHEN
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldFault(Fault):
    """The request, or its answer, waits until the fault is released or removed."""

    kind: ClassVar[str] = "hold"
    when: str = field_with_parser(WHEN, "before")

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage(self.when)

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> None:
        await request.hold_until(state.released)

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        await request.hold_until(state.released)
        return response
