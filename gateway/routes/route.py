"""Which brokers the parts of a request are for, and how their responses are joined."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from ...client.operation import Coordinator
from ...network.turn import Turn

BROKER, BROKER_LOGGER = 4, 8


@dataclass(frozen=True, slots=True)
class LeaderTarget:
    """The leader of a partition; `topic` is a name or an id."""

    topic: str | UUID
    partition: int


Target: TypeAlias = LeaderTarget | Coordinator | int | None
"""A leader, a coordinator, a broker by its id, or any broker."""
Brokers: TypeAlias = Mapping[Target, int | None]
"""The broker of each target by its id, None: any."""


class Route(Protocol):
    """How the requests of an API are routed. `is_everywhere`: they go to all brokers."""

    is_everywhere: bool

    def prepare(self, request: Any) -> Any:
        """The request as it is sent; the same object where nothing is changed. Raises: ApiError, which is answered."""
        ...

    def targets(self, request: Any) -> Iterable[Target]:
        """The targets of the parts of the request."""
        ...

    async def split(self, request: Any, brokers: Brokers, turn: Turn) -> dict[int | None, Any]:
        """The parts of the request by broker."""
        ...

    def join(self, responses: Sequence[Any]) -> Any:
        """One response, made of the responses to all parts."""
        ...


class AnyBrokerRoute:
    """A request that any broker answers."""

    is_everywhere = False

    def prepare(self, request: Any) -> Any:
        return request

    def targets(self, request: Any) -> Iterable[Target]:
        return (None,)

    async def split(self, request: Any, brokers: Brokers, turn: Turn) -> dict[int | None, Any]:
        return {None: request}

    def join(self, responses: Sequence[Any]) -> Any:
        return responses[0]


class AllBrokersRoute(AnyBrokerRoute):
    """A request that each broker answers for itself; `answers` names the field whose lists are joined."""

    is_everywhere = True

    def __init__(self, answers: str) -> None:
        self._answers = answers

    def join(self, responses: Sequence[Any]) -> Any:
        return join_responses(
            responses, self._answers, [each for one in responses for each in getattr(one, self._answers)]
        )


def join_items(responses: Sequence[Any], field: str) -> Any:
    """One response with the items of all responses."""
    return join_responses(responses, field, [each for one in responses for each in getattr(one, field)])


def join_responses(responses: Sequence[Any], field: str, items: Sequence[Any]) -> Any:
    """The first response with these items, the first error and the longest throttling of all."""
    first = responses[0]
    changes: dict[str, Any] = {field: items}
    if hasattr(first, "throttle_time_ms"):
        changes["throttle_time_ms"] = max(each.throttle_time_ms for each in responses)
    if hasattr(first, "error_code"):
        changes["error_code"] = next((each.error_code for each in responses if each.error_code), 0)
    if hasattr(first, "node_endpoints"):
        changes["node_endpoints"] = ()  # the new leaders have the same address; clients find them by Metadata
    return replace(first, **changes)


def coordinator_target(name: str | None, kind: int) -> Target:
    """The coordinator, or any broker for an empty name: it answers with the error."""
    return Coordinator(name, kind) if name else None


def broker_of_resource(resource: Any) -> Target:
    """The broker whose settings these are; None, any broker, for settings of topics and of all brokers."""
    name: str = resource.resource_name
    is_broker = resource.resource_type in (BROKER, BROKER_LOGGER) and name.isascii() and name.isdecimal()
    return int(name) if is_broker and len(name) < 10 else None
