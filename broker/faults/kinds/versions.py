"""`versions`: an older broker."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....network.answerer import CloseConnection
from ....protocol.api import API, ApiKey
from .. import field_parsers
from ..armed_fault_state import ArmedFaultState
from ..fault import Fault, FaultStage, Versions, field_with_parser
from ..field_parsers import NO_VERSIONS, parse_apis, parse_positive
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsFault(Fault):
    """Only these versions of an API are served, as by an older broker; `none`: not at all."""

    kind: ClassVar[str] = "versions"
    missing_fields: ClassVar[tuple[str, ...]] = ("versions", "topic", "partition", "group")
    api: tuple[ApiKey, ...] = field_with_parser(parse_apis)
    times: int | None = field_with_parser(parse_positive, None)
    only: Versions = field_with_parser(field_parsers.parse_versions, NO_VERSIONS)

    def ensure_can_fire(self) -> None:
        for key in self.api:
            spec = API[key]
            if self.only != NO_VERSIONS and not (self.only[0] <= spec.max_version and spec.min_version <= self.only[1]):
                raise ValueError(f"{spec.name} has versions {spec.min_version} to {spec.max_version}; none: not at all")

    def is_for(self, request: PassingRequest) -> bool:
        call = request.call
        if self.client_id not in (None, call.client_id):
            return False
        is_served = self.only[0] <= call.version <= self.only[1]
        return call.key is ApiKey.API_VERSIONS or (call.key in self.api and not is_served)

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.AFTER if key is ApiKey.API_VERSIONS else FaultStage.BEFORE

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> None:
        raise CloseConnection("a fault of kind versions closes the connection")

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        first, last = self.only
        left = []
        for each in response.api_keys:
            if each.api_key in self.api:
                low, high = max(first, each.min_version), min(last, each.max_version)
                if low > high:
                    continue
                each = replace(each, min_version=low, max_version=high)
            left.append(each)
        return replace(response, api_keys=tuple(left))
