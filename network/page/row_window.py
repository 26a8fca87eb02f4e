"""Finds the next rows of a long table in order, without sorting all of it or holding the event loop."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..turn import Turn

Key = TypeVar("Key", str, int, tuple[str, int])


@dataclass(frozen=True, slots=True)
class RowWindow(Generic[Key]):
    """Keys of rows. `total`: how many rows the table has. `next`: the last key, if there are more rows."""

    keys: list[Key]
    total: int
    next: Key | None

    def document(self, rows: list[dict[str, Any]], name: Callable[[Key], object] = lambda key: key) -> dict[str, Any]:
        """The document of a table; `name` converts the key `next` to what clients send as `after`."""
        return {"rows": rows, "total": self.total, "next": None if self.next is None else name(self.next)}


async def take_window(
    keys: Iterable[Key], after: Key | None, limit: int, turn: Turn, is_wanted: Callable[[Key], bool] = lambda _: True
) -> RowWindow[Key]:
    """The first `limit` wanted keys above `after`; None: from the beginning."""
    total = 0
    found: list[Key] = []
    for key in keys:
        if is_wanted(key):
            total += 1
            if after is None or key > after:
                found.append(key)
                if len(found) > 2 * limit:
                    found = sorted(found)[: limit + 1]
        await turn.next()
    found.sort()
    kept = found[:limit]
    return RowWindow(kept, total, kept[-1] if len(found) > limit else None)
