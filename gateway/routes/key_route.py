"""Requests about one group or one transactional id, which go whole to its coordinator."""

from collections.abc import Iterable
from typing import Any

from .route import AnyBrokerRoute, Target, coordinator_target


class KeyRoute(AnyBrokerRoute):
    """`field` holds the group or transactional id."""

    def __init__(self, field: str, kind: int) -> None:
        self._field = field
        self._kind = kind

    def targets(self, request: Any) -> Iterable[Target]:
        return (coordinator_target(getattr(request, self._field), self._kind),)
