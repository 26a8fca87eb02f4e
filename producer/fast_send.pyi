"""What Python sees of fast_send.py, which is itself typed for Cython, which checks it."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..protocol.records.record import Header
from .accumulator.batch_outcome import Callback
from .accumulator.producer_batch import Batch, Entry
from .accumulator.record_accumulator import Accumulator
from .clock import Clock, Timer
from .delivery import Delivery
from .network.metadata import Metadata
from .partitioners.built_in_partitioner import BuiltInPartitioner
from .partitioners.partitioner import TopicView
from .record import Headers, Serializer

COMPILED: bool
NO_HEADERS: Final[bytes]
MAX_RECORD_OVERHEAD: Final[int]
WAITING_BYTES: Final[int]

def most_bytes(key_size: int, value_size: int, headers: bytes) -> int: ...
def murmur2(key: bytes) -> int: ...
def partition_for_key(key: bytes, partitions: int) -> int: ...
def encode_headers(headers: Iterable[Header]) -> bytes: ...

class LoopClock:
    def now_ms(self) -> int: ...
    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> Timer: ...

class WaitingRecord:
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def entry(self) -> Entry: ...
    @property
    def deadline_ms(self) -> int: ...
    @property
    def delivery(self) -> Delivery: ...
    @property
    def held_bytes(self) -> int: ...
    short_of: int
    chosen: int | None
    def __init__(self, topic: str, partition: int | None, entry: Entry, deadline_ms: int) -> None: ...

class StickyPartition:
    @property
    def partition(self) -> int: ...
    @property
    def batch(self) -> Batch | None: ...
    produced_bytes: int
    def __init__(self, partition: int) -> None: ...
    def go_on_in(self, batch: Batch) -> None: ...

class FastAppend:
    def __init__(
        self,
        view: TopicView,
        built_in: BuiltInPartitioner,
        accumulator: Accumulator,
        metadata: Metadata,
        line: deque[WaitingRecord],
        wake: Callable[[], None],
    ) -> None: ...
    @property
    def of_use(self) -> bool: ...
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
    def follow(self, now_ms: int) -> None: ...

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
