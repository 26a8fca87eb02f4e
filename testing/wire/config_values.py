"""Values of settings, as a test gives them, in the form in which Kafka writes them."""

from contextlib import suppress
from datetime import timedelta

from ...broker.faults.field_parsers import parse_duration_ms


def as_text(value: object) -> str:
    """A setting as Kafka writes it."""
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_config_value(name: str, value: object) -> str:
    """The value of a setting as Kafka writes it; one in milliseconds may be a time, such as 1h."""
    is_time = isinstance(value, str | timedelta) and name.endswith(".ms")
    with suppress(ValueError):  # the setting itself says what it expects
        return str(parse_duration_ms(value)) if is_time else as_text(value)
    return as_text(value)
