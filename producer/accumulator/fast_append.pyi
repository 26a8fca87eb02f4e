"""What Python sees of a lane; lane.py itself is typed for Cython, which checks it."""

from collections import deque
from collections.abc import Callable

from ..future import Delivery
from ..network.metadata import Metadata
from ..partitioners.partitioner import TopicView
from ..partitioners.uniform_sticky import BuiltIn
from .batch_outcome import Callback
from .record_accumulator import Accumulator
from .waiting_record import WaitingRecord

COMPILED: bool

class FastAppend:
    def __init__(
        self,
        view: TopicView,
        built_in: BuiltIn,
        accumulator: Accumulator,
        metadata: Metadata,
        line: deque[WaitingRecord],
        wake: Callable[[], None],
    ) -> None: ...
    @property
    def of_use(self) -> bool: ...
    def send(self, value: bytes, now_ms: int, callback: Callback | None) -> Delivery | None: ...
    def follow(self) -> None: ...
