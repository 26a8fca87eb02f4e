"""`delay`: the request, or its answer, waits."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import WHEN, parse_delay_ms
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayFault(Fault):
    """The request, or its answer, waits for the time `delay`."""

    kind: ClassVar[str] = "delay"
    delay: int = field_with_parser(parse_delay_ms)
    when: str = field_with_parser(WHEN, "before")

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage(self.when)

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> None:
        await request.sleep(self.delay)

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        await request.sleep(self.delay)
        return response
