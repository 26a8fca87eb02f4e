"""`buffer.memory` as a number: how much of it the open batches hold. Nothing is allocated here.

Kafka's BufferPool keeps byte buffers for reuse; Python's batches are lists of small bytes, so only the sum is kept.
Those who wait are served in the order in which they came (`intake.py` has the queue).
"""


class BufferMemory:
    """Bytes taken and free."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.waiting = 0

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
