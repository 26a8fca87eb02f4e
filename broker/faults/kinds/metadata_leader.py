"""`metadata`: Metadata names another leader."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....protocol.api import ApiKey
from .. import field_parsers
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import parse_apis, parse_positive
from ..metadata_responses import with_leader
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLeaderFault(Fault):
    """Metadata names this leader; -1: none, LEADER_NOT_AVAILABLE."""

    kind: ClassVar[str] = "metadata"
    only_apis: ClassVar[tuple[ApiKey, ...]] = (ApiKey.METADATA,)
    api: tuple[ApiKey, ...] = field_with_parser(parse_apis, (ApiKey.METADATA,))
    times: int | None = field_with_parser(parse_positive, None)
    leader: int = field_with_parser(field_parsers.parse_leader)

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.AFTER

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        return with_leader(response, self.leader, self.is_about)
