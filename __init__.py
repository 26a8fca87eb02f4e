"""stepdown.

A Kafka broker that serves log directories to clients of any age, converting records down in bounded memory.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .testing import running as running

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`stepdown.running`, imported when asked for: a broker that serves has no use for it."""
    if name == "running":
        from .testing import running

        return running
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
