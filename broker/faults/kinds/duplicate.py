"""`duplicate`: a Produce is appended twice."""

from dataclasses import dataclass
from typing import ClassVar

from ....protocol.api import ApiKey
from ..fault import Fault, field_with_parser
from ..fault_state import FaultState
from ..field_parsers import apis
from ..passing_request import PassingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateFault(Fault):
    """A Produce is appended twice."""

    kind: ClassVar[str] = "duplicate"
    api: tuple[ApiKey, ...] = field_with_parser(apis, (ApiKey.PRODUCE,))

    async def begin(self, request: PassingRequest, state: FaultState) -> None:
        await request.handle()
