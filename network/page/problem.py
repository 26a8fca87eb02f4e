"""A problem as the overview of the page shows it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_NAMES = 10


@dataclass(slots=True)
class Problem:
    """Something that is wrong with `count` things, or without `needs_action` only worth knowing. The first of them are
    named; `view` shows all."""

    what: str
    help: str
    view: str = ""
    count: int = 0
    needs_action: bool = True
    names: list[str] = field(default_factory=list)

    def add(self, name: str, count: int = 1) -> None:
        self.count += count
        if len(self.names) < MOST_NAMES:
            self.names.append(name)

    def add_all(self, names: Iterable[str]) -> "Problem":
        for name in names:
            self.add(name)
        return self

    def document(self) -> dict[str, Any]:
        """As the overview shows it."""
        return asdict(self)
