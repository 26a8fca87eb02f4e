"""`stale_metadata`: Metadata does not change any more."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ....protocol.api import ApiKey
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import parse_apis, parse_positive
from ..metadata_responses import leaders_now, with_old_leaders
from ..passing_request import PassingRequest

if TYPE_CHECKING:
    from ...services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleMetadataFault(Fault):
    """Metadata names the leaders of the time when the fault was armed."""

    kind: ClassVar[str] = "stale_metadata"
    only_apis: ClassVar[tuple[ApiKey, ...]] = (ApiKey.METADATA,)
    api: tuple[ApiKey, ...] = field_with_parser(parse_apis, (ApiKey.METADATA,))
    times: int | None = field_with_parser(parse_positive, None)

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.AFTER

    def on_arm(self, state: ArmedFaultState, services: "Services") -> None:
        state.leaders[services.cluster.node_id] = leaders_now(services.cluster)

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        return with_old_leaders(response, state.leaders[request.services.cluster.node_id], self.is_about)
