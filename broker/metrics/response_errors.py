"""Error codes in responses, counted: every `error_code` at any depth, NONE included, as Kafka does (`errorCounts`).

Each class of response has a function written for it, as its codecs are.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from ...protocol.code_buffer import Source
from ...protocol.errors import ErrorCode
from ...protocol.schema import schema_of
from .instruments import Counter, CounterFamily

Tally = dict[int, int]
Count = Callable[[Any, Tally], None]


class ErrorTally:
    """Adds what responses carry to a counter with the labels request and error."""

    def __init__(self, counters: CounterFamily) -> None:
        self._counters = counters
        self._known: dict[tuple[str, int], Counter] = {}

    def add(self, request: str, response: Any) -> None:
        tally: Tally = {}
        kind: Any = type(response)
        _counting(kind)(response, tally)
        for code, times in tally.items():
            counter = self._known.get((request, code))
            if counter is None:
                counter = self._known[request, int(code)] = self._counters.of(request, _name(code))
            counter.value += times


def _name(code: int) -> str:
    return ErrorCode(code).name if code in ErrorCode._value2member_map_ else "UNKNOWN_SERVER_ERROR"


@cache
def _counting(cls: type) -> Count:
    """What counts the codes in values of a message class."""
    source = Source({})
    with source.block("def count(value, tally):"):
        source.line("get = tally.get")
        _write(source, cls, "value")
    return source.compile("count", f"errors of {cls.__name__}")


def _write(source: Source, cls: type, value: str) -> None:
    for field in schema_of(cls).fields:
        if field.name == "error_code":
            source.line(f"code = {value}.error_code")
            source.line("tally[code] = get(code, 0) + 1")
        elif field.element is not None and _holds_codes(cast(Any, field.element)):
            inner = source.new("inner")
            if field.item is not None:
                with source.block(f"for {inner} in {value}.{field.name} or ():"):
                    _write(source, cast(Any, field.element), inner)
            else:
                source.line(f"{inner} = {value}.{field.name}")
                with source.block(f"if {inner} is not None:"):
                    _write(source, cast(Any, field.element), inner)


@cache
def _holds_codes(cls: type) -> bool:
    return any(
        field.name == "error_code" or (field.element is not None and _holds_codes(cast(Any, field.element)))
        for field in schema_of(cls).fields
    )
