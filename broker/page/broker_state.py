"""What the views are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..services import Services


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker, and what only it knows itself."""

    services: "Services"
    count_connections: Callable[[], int]
    is_ready: Callable[[], bool]
