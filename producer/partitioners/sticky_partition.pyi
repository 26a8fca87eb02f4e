"""What Python sees of a stay; stay.py itself is typed for Cython, which checks it."""

from ..accumulator.producer_batch import Batch

COMPILED: bool

class StickyPartition:
    @property
    def partition(self) -> int: ...
    @property
    def batch(self) -> Batch | None: ...
    produced_bytes: int
    def __init__(self, partition: int) -> None: ...
    def go_on_in(self, batch: Batch) -> None: ...
