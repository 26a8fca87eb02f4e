"""Values of settings, as a test gives them, in the form in which Kafka writes them."""

from contextlib import suppress
from datetime import timedelta
from re import sub

from ...broker.faults.field_parsers import TIME, parse_duration_ms


def as_text(value: object) -> str:
    """A setting as Kafka writes it."""
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_config_value(name: str, value: object) -> str:
    """The value of a setting as Kafka writes it; one in milliseconds may be a time, such as 1h.

    A wrong value stays as it is: the broker names it with all others that are wrong.
    """
    if isinstance(value, str | timedelta) and name.endswith(".ms"):
        with suppress(ValueError):
            return str(parse_duration_ms(value))
    return as_text(value)


def mention_times(message: str) -> str:
    """Adds to what a broker says of settings in milliseconds that a test may give a time, such as 1h."""
    return sub(r"(\.ms: expected [^;]*?)(, found '[^']*[a-z])", rf"\1, or {TIME}\2", message)
