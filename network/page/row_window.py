"""The next rows of a long table, in order. Does not sort the whole table, and yields to the event loop on the way."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..turn import Turn

Key = TypeVar("Key", str, int, tuple[str, int])


@dataclass(frozen=True, slots=True)
class RowWindow(Generic[Key]):
    """The keys of the rows, how many there are in all, and the key after which the next window begins."""

    keys: list[Key]
    total: int
    next: Key | None

    def document(self, rows: list[dict[str, Any]], name: Callable[[Key], object] = lambda key: key) -> dict[str, Any]:
        """What a table answers; `name` is how the key is given as `after`."""
        return {"rows": rows, "total": self.total, "next": None if self.next is None else name(self.next)}


async def take_window(
    keys: Iterable[Key], after: Key | None, limit: int, turn: Turn, is_wanted: Callable[[Key], bool] = lambda _: True
) -> RowWindow[Key]:
    """The first `limit` of the wanted keys above `after` (None: of all)."""
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
