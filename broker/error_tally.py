"""Error codes in responses, counted: every `error_code` at any depth, NONE included, as Kafka does (`errorCounts`)."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from ..protocol.errors import ErrorCode
from ..protocol.schema import schema_of
from .instruments import CounterFamily

Tally = dict[int, int]
Count = Callable[[Any, Tally], None]


class ErrorTally:
    """Adds what responses carry to a counter with the labels request and error."""

    def __init__(self, counters: CounterFamily) -> None:
        self._counters = counters

    def add(self, request: str, response: Any) -> None:
        tally: Tally = {}
        kind: Any = type(response)
        count = _counting(kind)
        if count is not None:
            count(response, tally)
        for code, times in tally.items():
            self._counters.of(request, _name(code)).add(times)


@cache
def _name(code: int) -> str:
    return ErrorCode(code).name if code in ErrorCode._value2member_map_ else "UNKNOWN_SERVER_ERROR"


@cache
def _counting(cls: type) -> Count | None:
    """What counts the codes in values of a message or struct class; None if it can hold none."""
    fields = schema_of(cls).fields
    has_own = any(field.name == "error_code" for field in fields)
    below = [
        (field.name, field.item is not None, count)
        for field in fields
        if field.element is not None and (count := _counting(cast(Any, field.element))) is not None
    ]
    if not has_own and not below:
        return None

    if not below:
        return _count_own

    def count_in(value: Any, tally: Tally) -> None:
        if has_own:
            _count_own(value, tally)
        for name, is_array, count in below:
            inner = getattr(value, name)
            for item in (inner or ()) if is_array else (inner,):
                if item is not None:
                    count(item, tally)

    return count_in


def _count_own(value: Any, tally: Tally) -> None:
    code = value.error_code
    code = int(code) if code else 0
    tally[code] = tally.get(code, 0) + 1
