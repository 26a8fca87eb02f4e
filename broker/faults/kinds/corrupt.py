"""`corrupt`: wrong records in a fetch, or a wrong frame."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ....protocol.api import ApiKey
from ....protocol.messages.fetch import FetchResponse
from ....protocol.schema import Piece
from ..armed_fault_state import ArmedFaultState
from ..corrupt_responses import corrupt_frame, has_records, with_corrupt_records
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import make_choice_parser
from ..passing_request import PassingRequest

OF_RECORDS: Final = ("crc", "truncated")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorruptFault(Fault):
    """Corrupts fetched records (`what`: `crc`, `truncated`) or any answer (`correlation_id`, `length`, `garbage`)."""

    kind: ClassVar[str] = "corrupt"
    what: str = field_with_parser(make_choice_parser(*OF_RECORDS, "correlation_id", "length", "garbage"))

    def __post_init__(self) -> None:
        if self.what in OF_RECORDS and not self.api:
            object.__setattr__(self, "api", (ApiKey.FETCH,))

    def ensure_can_fire(self) -> None:
        Fault.ensure_can_fire(self)
        if self.what in OF_RECORDS and self.api != (ApiKey.FETCH,):
            raise ValueError(f"only answers to Fetch have records whose {self.what} can be wrong: leave api out")

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage.AFTER if self.what in OF_RECORDS else FaultStage.ENCODED

    def can_change(self, request: PassingRequest, response: Any | None) -> bool:
        return isinstance(response, FetchResponse) and has_records(response, self.is_about, request.topic_name)

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        return with_corrupt_records(response, self.what, self.is_about, request.topic_name)

    def act_on_bytes(self, pieces: list[Piece]) -> list[Piece]:
        return corrupt_frame(pieces, self.what)
