"""What Python sees of pending_record.py, which is itself typed for Cython, which checks it."""

from typing import Final

from .delivery import Delivery

COMPILED: bool
WAITING_BYTES: Final[int]

class PendingRecord:
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> bytes: ...
    @property
    def bound_bytes(self) -> int: ...
    @property
    def delivery(self) -> Delivery: ...
    @property
    def held_bytes(self) -> int: ...
    deadline_ms: int
    short_of: int
    chosen: int | None
    def __init__(
        self,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: bytes,
        bound_bytes: int,
        delivery: Delivery,
    ) -> None: ...
