"""What Python sees of fast_send.py, which is itself typed for Cython, which checks it."""

from collections import deque
from collections.abc import Callable
from typing import Any

from .accumulator.record_accumulator import Accumulator
from .clock import Clock
from .delivery import Callback, Delivery
from .metadata import Metadata
from .partitioners.built_in_partitioner import BuiltInPartitioner
from .partitioners.partitioner import TopicView
from .pending_record import PendingRecord
from .record import Headers, Serializer

COMPILED: bool

class FastAppend:
    def __init__(
        self,
        view: TopicView,
        built_in: BuiltInPartitioner,
        accumulator: Accumulator,
        metadata: Metadata,
        queue: deque[PendingRecord],
        wake: Callable[[], None],
    ) -> None: ...
    @property
    def is_current(self) -> bool: ...
    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: int,
        headers: bytes,
        callback: Callback | None,
        now_ms: int,
    ) -> Delivery | None: ...
    def append_waiting(self, now_ms: int) -> None: ...

class FastSend:
    _fast_appends: dict[str, FastAppend]
    _clock: Clock
    _key_serializer: Serializer | None
    _value_serializer: Serializer | None
    _thread: int
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
