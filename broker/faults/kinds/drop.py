"""`drop`: the connection is closed."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ....network.answerer import CloseConnection
from ....protocol.api import ApiKey
from ....protocol.schema import Piece
from ..armed_fault_state import ArmedFaultState
from ..corrupt_responses import close_connection_after
from ..fault import Fault, FaultStage, field_with_parser
from ..field_parsers import WHEN, parse_count
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFault(Fault):
    """The connection is closed; with `bytes`, after that number of bytes of the answer."""

    kind: ClassVar[str] = "drop"
    sends_whole_answer: ClassVar[bool] = False
    exclusive: ClassVar[tuple[str, ...]] = ("when", "bytes")
    when: str = field_with_parser(WHEN, "before")
    bytes: int | None = field_with_parser(parse_count, None)

    def stage_for(self, key: ApiKey) -> FaultStage:
        return FaultStage(self.when) if self.bytes is None else FaultStage.ENCODED

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> None:
        raise CloseConnection("a fault of kind drop closes the connection")

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        raise CloseConnection("a fault closes the connection instead of answering")

    def act_on_bytes(self, pieces: list[Piece]) -> list[Piece]:
        assert self.bytes is not None
        return close_connection_after(pieces, self.bytes)
