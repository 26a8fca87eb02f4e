"""The state of one armed fault: its number, how often it fired, and the requests that it holds."""

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True, eq=False)
class ArmedFaultState:
    """`seen`: requests that matched the filter. `hits`: requests in which the fault fired."""

    number: int
    seen: int = 0
    hits: int = 0
    is_removed: bool = False
    released: asyncio.Event = field(default_factory=asyncio.Event)
    failure: str = ""
    """The traceback of a hook that raised."""
    leaders: dict[int, dict[tuple[str, int], tuple[int, int]]] = field(default_factory=dict)
    """By broker: leader and epoch of each partition when the fault was armed, if its kind asks for them."""
