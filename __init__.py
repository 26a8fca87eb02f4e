"""stepdown.

A Kafka broker that serves log directories to clients of any age, converting records down in bounded memory.
"""

TYPE_CHECKING = False  # as in typing, whose import would take most of the time in which ^C shows a traceback
if TYPE_CHECKING:
    from .testing import running as running
    from .testing import running_async as running_async

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`running` and `running_async`, imported when asked for: a broker that serves has no use for them."""
    if name in ("running", "running_async"):
        from . import testing

        return getattr(testing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
