"""Who else is at it: what decides whether answers leave at once, or together with those of others.

A process that sleeps is dear to wake, and one that has many connections is woken once for all that leaves in a turn of
the loop.
"""

from .memory_budget import MemoryBudget

COMPANY_MS = 5


class Company:
    """Whether several connections are at it, each for a moment: one was served after another within the last few
    milliseconds, and nothing is being converted, since a turn of the loop takes many milliseconds then.
    """

    __slots__ = ("_converting", "_latest", "_since_ms")

    def __init__(self, converting: MemoryBudget) -> None:
        """`converting` is the memory that conversions hold; what is kept for later of it is no conversion."""
        self._converting = converting
        self._latest = 0
        self._since_ms = 0

    def note(self, connection: int, now_ms: int) -> None:
        """A request of this connection, an id that no other has, is being served."""
        if connection != self._latest:
            self._latest, self._since_ms = connection, now_ms

    def is_there(self, now_ms: int) -> bool:
        return now_ms - self._since_ms <= COMPANY_MS and self._converting.in_use_bytes == self._converting.spare_bytes
