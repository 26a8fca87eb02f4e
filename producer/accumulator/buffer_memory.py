"""`buffer.memory` as a number: how much of it open batches hold, and waiting records. Nothing is allocated here.

Kafka's BufferPool keeps byte buffers for reuse and lets threads wait; here only sums are kept, and records wait. They
are held in memory too, so queues are bounded: batches and queues together hold at most `buffer.memory`, QUEUE_BYTES and
one record. Those who wait are served in the order in which they came (`appender.py` has the queues).
"""

from typing import Final

QUEUE_BYTES: Final = 1024 * 1024


class BufferMemory:
    """Bytes taken and free. `waiting`: how many records wait for memory; `queued_bytes`: what all waiting records hold.

    `waited_ms`: how long records have waited for memory, added up.
    """

    __slots__ = ("available_bytes", "queued_bytes", "total_bytes", "waited_ms", "waiting")

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.waiting = self.queued_bytes = 0
        self.waited_ms = 0

    def take(self, size_bytes: int) -> bool:
        """Whether there was room. Raises: ValueError for more than there is in all."""
        if size_bytes > self.total_bytes:
            raise ValueError(f"{size_bytes} bytes are asked for, buffer.memory is {self.total_bytes}")
        if size_bytes > self.available_bytes:
            return False
        self.available_bytes -= size_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        self.available_bytes += size_bytes

    @property
    def queues_are_full(self) -> bool:
        """Whether no other record may wait."""
        return self.queued_bytes >= self.available_bytes + QUEUE_BYTES

    def admit(self, size_bytes: int) -> bool:
        """Whether a record may wait; it counts from then on."""
        if self.queued_bytes >= self.available_bytes + QUEUE_BYTES:
            return False
        self.queued_bytes += size_bytes
        return True

    def add_waiting_record(self) -> None:
        """One record more waits for memory."""
        self.waiting += 1

    def set_waiting_records(self, count: int) -> None:
        """That many records wait for memory; 0 while the first of them tries to get some."""
        self.waiting = count

    def clear_queues(self) -> None:
        """Nobody waits any more."""
        self.waiting = self.queued_bytes = 0

    def leave(self, size_bytes: int, waited_ms: int = 0) -> None:
        """Records of that size leave the queues; `waited_ms` is how long they waited for memory, added up."""
        self.queued_bytes -= size_bytes
        self.waited_ms += waited_ms
