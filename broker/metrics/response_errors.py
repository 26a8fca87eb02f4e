"""Counts error codes in responses: every `error_code` at any depth, NONE included, as Kafka does (`errorCounts`).

Each class of response has a generated function for it, as for its codecs.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, cast

from ...network.metrics.counts import Counter
from ...network.metrics.instruments import CounterFamily
from ...protocol.code_buffer import CodeBuffer
from ...protocol.errors import ErrorCode
from ...protocol.schema import schema_of


class ResponseErrors:
    """Counts the codes in responses of one class. `count(response)` adds to counters by request and error."""

    def __init__(self, counters: CounterFamily, request: str, response: type) -> None:
        self._count = _make_count_function(response)
        self._by_code = _ErrorCounters(counters, request)
        self.count: Callable[[Any], None] = partial(self._count, by_code=self._by_code)

    def tally(self, response: Any) -> Mapping[int, Counter]:
        """Tallies the codes in a response, for a worker thread; `add` counts them then."""
        tally: dict[int, Counter] = defaultdict(Counter)
        self._count(response, by_code=tally)
        return tally

    def add(self, tally: Mapping[int, Counter]) -> None:
        for code, counter in tally.items():
            self._by_code[code].value += counter.value


class _ErrorCounters(dict[int, Counter]):
    """The counters of one request, each made when its code first comes."""

    def __init__(self, counters: CounterFamily, request: str) -> None:
        self._counters = counters
        self._request = request

    def __missing__(self, code: int) -> Counter:
        counter = self[code] = self._counters.of(self._request, _error_name(code))
        return counter


def _error_name(code: int) -> str:
    return ErrorCode(code).name if code in ErrorCode._value2member_map_ else "UNKNOWN_SERVER_ERROR"


@cache
def _make_count_function(cls: type) -> Callable[..., None]:
    """Makes the function that counts the codes in values of a message class."""
    source = CodeBuffer({})
    with source.indent_block("def count(value, by_code):"):
        _write_count_code(source, cls, "value")
    return source.compile("count", f"errors of {cls.__name__}")


def _write_count_code(source: CodeBuffer, cls: type, value: str) -> None:
    for field in schema_of(cls).fields:
        if field.name == "error_code":
            source.add_line(f"by_code[{value}.error_code].value += 1")
        elif field.element is not None and _holds_codes(cast(Any, field.element)):
            inner = source.new_local("inner")
            if field.item is not None:
                with source.indent_block(f"for {inner} in {value}.{field.name} or ():"):
                    _write_count_code(source, cast(Any, field.element), inner)
            else:
                source.add_line(f"{inner} = {value}.{field.name}")
                with source.indent_block(f"if {inner} is not None:"):
                    _write_count_code(source, cast(Any, field.element), inner)


@cache
def _holds_codes(cls: type) -> bool:
    return any(
        field.name == "error_code" or (field.element is not None and _holds_codes(cast(Any, field.element)))
        for field in schema_of(cls).fields
    )
