"""`watermark`: Fetch answers other watermarks."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from ....protocol.messages.fetch import FetchResponse
from ..armed_fault_state import ArmedFaultState
from ..corrupt_responses import with_higher_watermarks
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import parse_apis, parse_int
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkFault(Fault):
    """Fetch answers a high watermark and a last stable offset that are higher by these numbers."""

    kind: ClassVar[str] = "watermark"
    only_apis: ClassVar[tuple[ApiKey, ...]] = (ApiKey.FETCH,)
    api: tuple[ApiKey, ...] = field_with_parser(parse_apis, (ApiKey.FETCH,))
    high_watermark: int = field_with_parser(parse_int, 0)
    last_stable_offset: int = field_with_parser(parse_int, 0)

    def ensure_can_fire(self) -> None:
        Fault.ensure_can_fire(self)
        if not self.high_watermark and not self.last_stable_offset:
            raise ValueError("a fault of kind watermark needs high_watermark or last_stable_offset, other than 0")

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.AFTER

    def can_change(self, request: PassingRequest, response: Any | None) -> bool:
        return isinstance(response, FetchResponse)

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        return with_higher_watermarks(
            response, self.high_watermark, self.last_stable_offset, self.is_about, request.topic_name
        )
