"""What Python sees of sticky_partition.py, which is itself typed for Cython, which checks it."""

from typing import Any, Protocol

from ...protocol.records.growing_batch import GrowingBatch

COMPILED: bool

class OpenBatch(Protocol):
    buffer: GrowingBatch

    def try_append(self, entry: Any) -> int: ...

class StickyPartition:
    @property
    def partition(self) -> int: ...
    @property
    def batch(self) -> OpenBatch | None: ...
    @property
    def buffer(self) -> GrowingBatch | None: ...
    produced_bytes: int
    def __init__(self, partition: int) -> None: ...
    def set_batch(self, batch: OpenBatch) -> None: ...
