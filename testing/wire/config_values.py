"""Values of settings, as a test gives them, in the form in which Kafka writes them."""

from datetime import timedelta
from re import fullmatch

from ...broker.faults.field_parsers import parse_duration_ms
from ...config.errors import ConfigError, Problem
from ...config.sources.origin import Origin


def as_text(value: object) -> str:
    """A setting as Kafka writes it."""
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_config_value(name: str, value: object) -> str:
    """The value of a setting as Kafka writes it; one in milliseconds may be a time, such as 1h.

    Raises: ConfigError for a wrong time. What numbers a setting takes is for the broker to say.
    """
    text = as_text(value)
    is_time = isinstance(value, str | timedelta) and name.endswith(".ms")
    if not is_time or fullmatch(r"\s*[+-]?[0-9]+\s*", text):
        return text
    try:
        return str(parse_duration_ms(value))
    except ValueError as expected:
        problem = Problem(key=name, expected=f"expected {expected}", found=text, origin=Origin("config"))
        raise ConfigError([problem]) from None
