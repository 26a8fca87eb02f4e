"""What the views are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..services import Services


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker, since when it is up, in milliseconds, and what only it knows itself."""

    services: "Services"
    started_ms: int
    count_connections: Callable[[], int]
    is_ready: Callable[[], bool]
