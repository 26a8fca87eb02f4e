"""Regular expressions over topic names (KIP-848, SubscribedTopicRegex), by RE2, as Kafka 4.0 does by RE2/J.

A client chooses the expression, which has to match the whole name. RE2 never backtracks: the time for a name grows with
the sizes of both, and memory is limited. Still thousands of long names can take a second, so each is matched once,
in a worker thread, which compiles too (`precompute_matches`).
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from time import perf_counter
from typing import Any, Final

from ....protocol.errors import ApiError, ErrorCode
from ...metadata.topic_rules import INTERNAL_TOPICS

MAX_PATTERN_CHARS: Final = 1_000
MAX_PROGRAM: Final = 2_000
"""The size of a compiled expression in RE2: a step for each character, more for classes of many ranges."""
MAX_MEMORY_BYTES: Final = 128 * 1024
MAX_UNICODE_CLASSES: Final = 4
"""The most classes such as `\\pL`. RE2 looks through the hundreds of ranges of each, in up to a millisecond, and lets
no other thread run meanwhile: 330 of them took 50 ms."""
MAX_LEARN_S: Final = 5.0
KNOWN_PATTERNS: Final = 64


class TopicPattern:
    """A compiled regular expression, and whether it matches the names that were looked at."""

    def __init__(self, text: str, expression: Any) -> None:
        self._text = text
        self._expression = expression
        self._known: dict[str, bool] = {}

    def matches(self, name: str) -> bool:
        """Whether the whole name matches. Internal topics never do: they are subscribed to by name."""
        known = self._known.get(name)
        if known is None:
            known = name not in INTERNAL_TOPICS and self._expression.fullmatch(name) is not None
            self._known[name] = known
        return known

    def matching_names(self, names: Iterable[str]) -> set[str]:
        """Those of these names that match. Ten thousand names that were matched before take half a millisecond."""
        known = self._known
        return {name for name in names if (known[name] if name in known else self.matches(name))}

    def has_matches_of(self, names: Iterable[str]) -> bool:
        """Whether all of these names have been matched before."""
        return all(name in self._known for name in names)

    def cache_matches(self, names: Iterable[str]) -> None:
        """Matches these names and keeps the results, in place of all others.

        Raises: ApiError INVALID_REGULAR_EXPRESSION after `MAX_LEARN_S`.
        """
        began, known = perf_counter(), {}
        for name in names:
            known[name] = self.matches(name)
            if perf_counter() - began > MAX_LEARN_S:
                raise _make_invalid_error(self._text, f"takes more than {MAX_LEARN_S:g} s for the names of all topics")
        self._known = known


def precompute_matches(texts: Iterable[str], names: Collection[str]) -> None:
    """Compiles the expressions and matches all names, in a worker. Raises: ApiError INVALID_REGULAR_EXPRESSION."""
    for text in texts:
        pattern = compile_pattern(text)
        if not pattern.has_matches_of(names):
            pattern.cache_matches(names)


@lru_cache(maxsize=KNOWN_PATTERNS)
def compile_pattern(text: str) -> TopicPattern:
    """Compiles the expression. Raises: ApiError INVALID_REGULAR_EXPRESSION."""
    import re2  # on first use: few clients subscribe by expressions

    if len(text) > MAX_PATTERN_CHARS:
        raise _make_invalid_error(text, f"has {len(text)} characters, {MAX_PATTERN_CHARS} are allowed")
    if text.count("\\p") + text.count("\\P") > MAX_UNICODE_CLASSES:
        raise _make_invalid_error(text, f"has more than {MAX_UNICODE_CLASSES} Unicode classes")
    options = re2.Options()
    options.max_mem, options.log_errors = MAX_MEMORY_BYTES, False
    try:
        expression = re2.compile(text, options)
    except (re2.error, UnicodeEncodeError) as fault:
        raise _make_invalid_error(text, f"cannot be read: {_reason(fault)}") from fault
    if expression.programsize > MAX_PROGRAM:
        raise _make_invalid_error(text, f"is too large: {expression.programsize} steps, {MAX_PROGRAM} are allowed")
    return TopicPattern(text, expression)


def _reason(fault: Exception) -> str:
    told = fault.args[0] if fault.args else fault
    return told.decode(errors="replace") if isinstance(told, bytes) else str(told)


def _make_invalid_error(text: str, why: str) -> ApiError:
    return ApiError(f"the expression {text[:80]!r} {why}", ErrorCode.INVALID_REGULAR_EXPRESSION)
