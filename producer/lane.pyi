"""What Python sees of a lane; lane.py itself is typed for Cython, which checks it."""

from collections import deque
from collections.abc import Callable

from .accumulator import Accumulator
from .built_in import BuiltIn
from .delivery import Delivery
from .metadata import Metadata
from .outcome import Callback
from .partitioners import TopicView
from .waiting import Waiting

COMPILED: bool

class Lane:
    def __init__(
        self,
        view: TopicView,
        built_in: BuiltIn,
        accumulator: Accumulator,
        metadata: Metadata,
        line: deque[Waiting],
        wake: Callable[[], None],
    ) -> None: ...
    @property
    def of_use(self) -> bool: ...
    def send(self, value: bytes, now_ms: int, callback: Callback | None) -> Delivery | None: ...
    def follow(self) -> None: ...
