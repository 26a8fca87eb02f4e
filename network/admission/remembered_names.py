"""A map whose keys are names that clients choose, limited in entries and in bytes of the names.

A name may have 32 kB: with a limit of entries alone, 10,000 of them would hold 300 MB.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K", bound=tuple[str, ...])
V = TypeVar("V")

USUAL_NAME_BYTES = 200
"""The limit of bytes is the limit of entries times this."""


class RememberedNames(Generic[K, V]):
    """Values by names, the latest last. Above a limit the oldest are forgotten, and `on_forgotten` is called."""

    def __init__(self, most: int, on_forgotten: Callable[[K, V], None] = lambda names, value: None) -> None:
        self.name_bytes = 0
        self.most = most
        self._on_forgotten = on_forgotten
        self._values: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._values)

    def put(self, names: K, value: V) -> None:
        """Adds or replaces a value, as the latest."""
        self.pop(names)
        self._values[names] = value
        self.name_bytes += _count_characters(names)
        while len(self._values) > self.most or (
            self.name_bytes > self.most * USUAL_NAME_BYTES and len(self._values) > 1
        ):
            oldest = next(iter(self._values))
            forgotten = self.pop(oldest)
            assert forgotten is not None
            self._on_forgotten(oldest, forgotten)

    def get(self, names: K) -> V | None:
        """The value, or None. Its age does not change."""
        return self._values.get(names)

    def pop(self, names: K) -> V | None:
        """Removes and returns the value; None if there is none."""
        value = self._values.pop(names, None)
        if value is not None:
            self.name_bytes -= _count_characters(names)
        return value


def _count_characters(names: tuple[str, ...]) -> int:
    """Counts a byte for each character: most names are ASCII, and no character takes more than four."""
    return sum(map(len, names))
