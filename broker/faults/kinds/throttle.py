"""`throttle`: the answer has a throttle time."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import parse_delay_ms, parse_flag
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleFault(Fault):
    """The answer has a throttle time; with `mute` the connection's next request is read after that time."""

    kind: ClassVar[str] = "throttle"
    delay: int = field_with_parser(parse_delay_ms)
    mute: bool = field_with_parser(parse_flag, True)

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.AFTER

    def can_change(self, request: PassingRequest, response: Any | None) -> bool:
        return hasattr(response, "throttle_time_ms")

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        if self.mute:
            request.call.throttle_ms = max(request.call.throttle_ms, self.delay)
        return replace(response, throttle_time_ms=self.delay)
