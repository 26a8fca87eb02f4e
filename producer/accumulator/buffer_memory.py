"""`buffer.memory` as a number: how much of it open batches hold, and those who wait in line. Nothing is allocated here.

Kafka's BufferPool keeps byte buffers for reuse and lets threads wait; here only sums are kept, and records wait. They
are held in memory too, so lines are bounded: batches and lines together hold at most `buffer.memory`, LINE_BYTES and
one record. Those who wait are served in the order in which they came (`appender.py` has the lines).
"""

from typing import Final

LINE_BYTES: Final = 1024 * 1024


class BufferMemory:
    """Bytes taken and free. `waiting`: how many records wait for memory; `line_bytes`: what all in line hold.

    `waited_ms`: how long records have waited for memory, added up.
    """

    __slots__ = ("available_bytes", "line_bytes", "total_bytes", "waited_ms", "waiting")

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.waiting = self.line_bytes = 0
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
    def lines_are_full(self) -> bool:
        """Whether nobody more may stand in line."""
        return self.line_bytes >= self.available_bytes + LINE_BYTES

    def admit(self, size_bytes: int) -> bool:
        """Whether a record may stand in line; it counts from then on."""
        if self.line_bytes >= self.available_bytes + LINE_BYTES:
            return False
        self.line_bytes += size_bytes
        return True

    def begin_wait(self) -> None:
        """One record more waits for memory."""
        self.waiting += 1

    def count_waiting(self, records: int) -> None:
        """That many records wait for memory; 0 while the first of them tries to get some."""
        self.waiting = records

    def clear_lines(self) -> None:
        """Nobody waits any more."""
        self.waiting = self.line_bytes = 0

    def leave(self, size_bytes: int, waited_ms: int = 0) -> None:
        """Records of that size leave the lines; `waited_ms` is how long they waited for memory, added up."""
        self.line_bytes -= size_bytes
        self.waited_ms += waited_ms
