"""What is remembered by names that clients choose: a limit of entries, and one of their bytes.

A name may have 32 kB: where entries alone are counted, 10,000 of them hold 300 MB.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K", bound=tuple[str, ...])
V = TypeVar("V")

USUAL_NAME_BYTES = 200
"""The limit of bytes is that of entries times this."""


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
        """Remembers it as the latest."""
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
        """The value, which stays as old as it is; None where there is none."""
        return self._values.get(names)

    def pop(self, names: K) -> V | None:
        """The value, which is remembered no more; None where there is none."""
        value = self._values.pop(names, None)
        if value is not None:
            self.name_bytes -= _count_characters(names)
        return value


def _count_characters(names: tuple[str, ...]) -> int:
    """As many bytes as characters: most names are ASCII, and no character takes more than four."""
    return sum(map(len, names))
