"""A fault: which requests it is for, how often, and what goes wrong then. Each kind is a class in `kinds/`.

A kind declares its fields, each with its parser, and overrides one method: `act_before` the request has its effect,
`act_after` it, or `act_on_bytes` of the answer. `stage_for` says which of them is called.
"""

from dataclasses import MISSING, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from ...protocol.api import API, ApiKey
from ...protocol.schema import Piece
from . import field_parsers
from .armed_fault_state import ArmedFaultState
from .field_parsers import (
    Parser,
    parse_apis,
    parse_count,
    parse_flag,
    parse_int,
    parse_name,
    parse_positive,
    parse_probability,
    parse_text,
)
from .passing_request import PassingRequest
from .request_topics_and_groups import names_groups, names_topics

if TYPE_CHECKING:
    from ..services import Services

Versions = tuple[int, int]


OF_REQUESTS = ("api", "versions", "client_id", "group")
"""Fields that faults of a partition, not of a request, do not have."""


class FaultStage(Enum):
    """How far a request has come when a fault fires."""

    BEFORE = "before"
    AFTER = "after"
    ENCODED = "encoded"
    NOWHERE = "nowhere"
    """The kind happens to a partition, not to a request."""


def field_with_parser(parser: Parser, default: Any = MISSING) -> Any:
    """A field of a fault with its parser; one without a default is required."""
    return field(default=default, metadata={"parser": parser})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The fields of all kinds. A field at its default matches everything."""

    kind: ClassVar[str] = ""
    sends_whole_answer: ClassVar[bool] = True
    only_apis: ClassVar[tuple[ApiKey, ...]] = ()
    """The APIs that the kind can be for; (): all."""
    missing_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of all faults that mean nothing for this kind."""
    exclusive: ClassVar[tuple[str, ...]] = ()
    """Fields of which one at most is given."""

    api: tuple[ApiKey, ...] = field_with_parser(parse_apis, ())
    versions: Versions | None = field_with_parser(field_parsers.parse_versions, None)
    broker: int | None = field_with_parser(parse_int, None)
    topic: str | None = field_with_parser(parse_name, None)
    partition: int | None = field_with_parser(parse_count, None)
    client_id: str | None = field_with_parser(parse_text, None)
    group: str | None = field_with_parser(parse_name, None)
    """A group or a transactional id."""
    times: int | None = field_with_parser(parse_positive, 1)
    """How often it fires; None: until it is removed."""
    after: int = field_with_parser(parse_count, 0)
    """How many matching requests pass first."""
    probability: float = field_with_parser(parse_probability, 1.0)
    optional: bool = field_with_parser(parse_flag, False)
    """A test does not fail when the fault never fires."""

    def ensure_can_fire(self) -> None:
        """Raises: ValueError when the fault, as its fields are, could never fire or would change nothing."""
        if not self.api:
            return
        if self.only_apis and not set(self.api) <= set(self.only_apis):
            own, found = _join_api_names(self.only_apis), _join_api_names(self.api)
            raise ValueError(f"a fault of kind {self.kind} is for {own}, not for {found}")
        if self.versions is not None and not any(_overlaps_versions(self.versions, key) for key in self.api):
            raise ValueError(
                f"there are no versions {self.versions[0]}-{self.versions[1]} of {_join_api_names(self.api)}"
            )
        if self.is_for_partitions and not any(names_topics(API[key].request) for key in self.api):
            raise ValueError(f"{_join_api_names(self.api)} names no topic: leave topic and partition out")
        if self.group is not None and not any(names_groups(API[key].request) for key in self.api):
            raise ValueError(f"{_join_api_names(self.api)} names no group and no transactional id: leave group out")

    @property
    def is_for_partitions(self) -> bool:
        """Whether it names the partitions that it is for."""
        return self.topic is not None or self.partition is not None

    def is_about(self, topic: str | None, partition: int | None) -> bool:
        """Whether the fault is for this partition, or for all."""
        return self.topic in (None, topic) and (self.partition is None or partition in (None, self.partition))

    def is_for(self, request: PassingRequest) -> bool:
        """Whether the request matches; its broker was compared before."""
        call = request.call
        return (
            (not self.api or call.key in self.api)
            and (self.versions is None or self.versions[0] <= call.version <= self.versions[1])
            and self.client_id in (None, call.client_id)
            and (self.group is None or self.group in request.groups())
            and (not self.is_for_partitions or request.has_partition(self.is_about))
        )

    def stage_for(self, key: ApiKey) -> FaultStage:
        """How far a request of this API has come when the fault fires."""
        return FaultStage.BEFORE

    def can_change(self, request: PassingRequest, response: Any | None) -> bool:
        """Whether the answer has what the fault changes; if not, it does not fire."""
        return True

    def on_arm(self, state: ArmedFaultState, services: "Services") -> None:
        """Called when the fault is armed: keeps in `state` what it needs of that moment."""

    async def act_before(self, request: PassingRequest, state: ArmedFaultState) -> Any | None:
        """A response in the handler's place, or None. Raises: ApiError, CloseConnection."""
        return None

    async def act_after(self, request: PassingRequest, state: ArmedFaultState, response: Any) -> Any:
        """The response to send. Raises: CloseConnection."""
        return response

    def act_on_bytes(self, pieces: list[Piece]) -> list[Piece]:
        """The bytes to send."""
        return pieces


def _join_api_names(keys: tuple[ApiKey, ...]) -> str:
    return ", ".join(API[key].name for key in keys)


def _overlaps_versions(versions: Versions, key: ApiKey) -> bool:
    return versions[0] <= API[key].max_version and API[key].min_version <= versions[1]
