"""The input of the views."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..services import Services


@dataclass(frozen=True, slots=True)
class BrokerState:
    """The services of a broker, and state that only `Broker` knows."""

    services: "Services"
    count_connections: Callable[[], int]
    is_ready: Callable[[], bool]
