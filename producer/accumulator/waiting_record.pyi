"""What Python sees of a record in line; waiting.py itself is typed for Cython, which checks it."""

from ..future import Delivery
from .producer_batch import Entry

COMPILED: bool

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
    short_of: int
    chosen: int | None
    def __init__(self, topic: str, partition: int | None, entry: Entry, deadline_ms: int) -> None: ...
