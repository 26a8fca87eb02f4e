"""Requests with a list of items, each for a broker of its own: groups, transactional ids, brokers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...client.operation import GROUP
from ...network.turn import Turn
from .route import AnyBrokerRoute, Brokers, Target, coordinator_target, join_items


class ItemRoute(AnyBrokerRoute):
    """`field` is the list of a request, `answers` that of its response."""

    def __init__(self, field: str, answers: str, target_of: Callable[[Any], Target]) -> None:
        self._field = field
        self._answers = answers
        self._target_of = target_of

    def targets(self, request: Any) -> Iterable[Target]:
        return map(self._target_of, getattr(request, self._field))

    async def split(self, request: Any, brokers: Brokers, turn: Turn) -> dict[int | None, Any]:
        items: dict[int | None, list[Any]] = {}
        for each in getattr(request, self._field):
            items.setdefault(brokers[self._target_of(each)], []).append(each)
            await turn.next()
        return {broker: replace(request, **{self._field: own}) for broker, own in items.items()}

    def join(self, responses: Sequence[Any]) -> Any:
        return join_items(responses, self._answers)


class OffsetFetchRoute(ItemRoute):
    """Before version 8 a request has only one group."""

    def targets(self, request: Any) -> Iterable[Target]:
        return super().targets(request) if request.groups else (coordinator_target(request.group_id, GROUP),)
