"""What Python sees of the entrance; entrance.py itself is typed for Cython, which checks it."""

from typing import Any

from .clock import Clock
from .delivery import Delivery
from .lane import Lane
from .outcome import Callback
from .producer_record import Headers

COMPILED: bool

class Entrance:
    _lanes: dict[str, Lane]
    _clock: Clock
    def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> Delivery: ...
