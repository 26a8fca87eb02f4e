"""The parsers of a fault's fields, from values of JSON, YAML or Python.

Every parser raises ValueError with what it expects.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from ...protocol.api import API, ApiKey
from ...protocol.errors import ErrorCode

Parser = Callable[[Any], Any]
UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
LONGEST_DAYS: Final = 36_525
LONGEST_MS: Final = LONGEST_DAYS * UNITS_MS["d"]
TIME: Final = f"a time such as 45s, 500ms or 1h30m (of {', '.join(UNITS_MS)})"
UNIT: Final = "|".join(UNITS_MS)
LAST_VERSION: Final = 0x7FFF
NO_VERSIONS: Final = (0, -1)
OTHER_CODES: Final = {
    "COORDINATOR_LOADING": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    "GROUP_COORDINATOR_NOT_AVAILABLE": ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "GROUP_LOAD_IN_PROGRESS": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    "INVALID_MSG": ErrorCode.CORRUPT_MESSAGE,
    "INVALID_MSG_SIZE": ErrorCode.INVALID_FETCH_SIZE,
    "MSG_SIZE_TOO_LARGE": ErrorCode.MESSAGE_TOO_LARGE,
    "NOT_COORDINATOR_FOR_GROUP": ErrorCode.NOT_COORDINATOR,
    "NOT_LEADER_FOR_PARTITION": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "STALE_CTRL_EPOCH": ErrorCode.STALE_CONTROLLER_EPOCH,
    "TOPIC_EXCEPTION": ErrorCode.INVALID_TOPIC_EXCEPTION,
    "UNKNOWN": ErrorCode.UNKNOWN_SERVER_ERROR,
    "UNKNOWN_TOPIC_OR_PART": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
"""What librdkafka calls error codes, and what Kafka did before 2.6."""
BY_NAME: Final = {spec.name.lower(): key for key, spec in API.items()}


def parse_duration_ms(value: Any) -> int:
    """Milliseconds, of a number of them or of a text such as 45s or 1h30m; at most a hundred years."""
    found = _parse_milliseconds(value)
    if isinstance(value, float):
        raise ValueError("a whole number of milliseconds, or a text with a unit, such as 0.5s")
    if (found is not None and found < 0) or (isinstance(value, str) and value.startswith("-")):
        raise ValueError("a time that is not negative")
    if found is None:
        raise ValueError(f"{TIME}, or a number of milliseconds")
    if found > LONGEST_MS:
        raise ValueError(f"a time of at most {LONGEST_DAYS}d")
    return round(found)


def parse_delay_ms(value: Any) -> int:
    """As `parse_duration_ms`, but not 0: a fault that delays nothing is none."""
    found = parse_duration_ms(value)
    if not found:
        raise ValueError("a time of at least 1ms")
    return found


def _parse_milliseconds(value: Any) -> float | None:
    if isinstance(value, timedelta):
        return value / timedelta(milliseconds=1)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return int(value)
    if isinstance(value, str) and re.fullmatch(rf"(\d+(\.\d+)? ?({UNIT}) ?)+", value):
        parts = re.findall(rf"(\d+(?:\.\d+)?) ?({UNIT})", value)
        return sum(float(amount) * UNITS_MS[unit] for amount, unit in parts)
    return None


def parse_apis(value: Any) -> tuple[ApiKey, ...]:
    """The APIs of a name, or of a list of names."""
    names = value if isinstance(value, list | tuple) else [value]
    found = [BY_NAME.get(str(name).lower().replace("_", "")) for name in names]
    if None in found or not found:
        raise ValueError("the name of an API, such as Produce, or a list of them")
    return tuple(key for key in found if key is not None)


def parse_versions(value: Any) -> tuple[int, int]:
    """The first and the last version, from 7, 0-7, 3+ or none."""
    if value == "none":
        return NO_VERSIONS
    found = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", str(value))
    if found is None:
        raise ValueError("versions such as 0-7, 3+ or 9")
    first, is_open, last = found.groups()
    low, high = int(first), LAST_VERSION if is_open else int(last or first)
    if low > high:
        raise ValueError(f"versions from the lower to the higher, {high}-{low}")
    return low, high


def parse_error_code(value: Any) -> ErrorCode:
    """An error code, by name or number; not NONE, which is a success."""
    try:
        other = OTHER_CODES.get(value) if isinstance(value, str) else None
        found = other or (ErrorCode[value] if isinstance(value, str) else ErrorCode(parse_int(value)))
    except (KeyError, ValueError):
        found = ErrorCode.NONE
    if found is ErrorCode.NONE:
        raise ValueError("an error code of Kafka, such as NOT_LEADER_OR_FOLLOWER or 6")
    return found


def parse_int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("a whole number")
    return value


def parse_count(value: Any) -> int:
    return _parse_at_least(0, value)


def parse_positive(value: Any) -> int:
    return _parse_at_least(1, value)


def _parse_at_least(low: int, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ValueError(f"a whole number of at least {low}")
    return value


def parse_leader(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < -1:
        raise ValueError("the id of a broker, or -1 for none")
    return value


def parse_probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def parse_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def parse_name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text that is not empty")
    return value


def make_choice_parser(*choices: str) -> Callable[[Any], str]:
    """Returns a parser that takes one of these."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(" or ".join(choices))
        return str(value)

    return read


WHEN: Final = make_choice_parser("before", "after")
"""Before the request has its effect (the usual), or after it."""
