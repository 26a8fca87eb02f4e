"""Counts how much of `buffer.memory` batches and waiting records hold. Nothing is allocated here.

Kafka's BufferPool keeps byte buffers for reuse, and threads wait. Here only sums are kept, and records wait in the
queues of `appender.py`, first come, first served. They take memory too, so the queues are bounded: batches and queues
together hold at most `buffer.memory`, QUEUE_BYTES and one record.
"""

from typing import Final

QUEUE_BYTES: Final = 1024 * 1024


class BufferMemory:
    """`available_bytes`: free for batches. `waiting`: how many records wait for memory. `queued_bytes`: held by all
    waiting records. `waited_ms`: the sum of all waits for memory.
    """

    __slots__ = ("available_bytes", "queued_bytes", "total_bytes", "waited_ms", "waiting")

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.waiting = self.queued_bytes = 0
        self.waited_ms = 0

    def try_take(self, size_bytes: int) -> bool:
        """Takes the bytes if they are free; returns whether they were. Raises: ValueError for more than the total."""
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

    def try_add_queued_bytes(self, size_bytes: int) -> bool:
        """Counts a record that begins to wait; returns False, without counting, if none may."""
        if self.queued_bytes >= self.available_bytes + QUEUE_BYTES:
            return False
        self.queued_bytes += size_bytes
        return True

    def add_waiting_record(self) -> None:
        """Counts one more record that waits for memory."""
        self.waiting += 1

    def set_waiting_count(self, count: int) -> None:
        """Sets how many records wait for memory. Above 0 no batch gets any; at 0 the first waiting record can try."""
        self.waiting = count

    def clear_queues(self) -> None:
        """Sets the counts to zero: no record waits."""
        self.waiting = self.queued_bytes = 0

    def remove_queued_bytes(self, size_bytes: int, waited_ms: int = 0) -> None:
        """Counts records that leave the queues; `waited_ms`: the sum of their waits for memory."""
        self.queued_bytes -= size_bytes
        self.waited_ms += waited_ms
