"""What Python sees of the entrance; entrance.py itself is typed for Cython, which checks it."""

from typing import Any

from ..clock import Clock
from ..future import Delivery
from ..record import Headers
from .batch_outcome import Callback
from .fast_append import FastAppend

COMPILED: bool

class FastSend:
    _lanes: dict[str, FastAppend]
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
