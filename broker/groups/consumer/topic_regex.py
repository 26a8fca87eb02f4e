"""Regular expressions over topic names, matched in a time that grows with name and expression and never runs away.

A client chooses the expression (KIP-848, SubscribedTopicRegex), so an engine that backtracks would let it stop the
broker. Here an expression becomes a nondeterministic automaton that is walked with all its states at once.

    e|e  ee  e* e+ e? e{n} e{n,} e{n,m}, also lazy  (e) (?:e) (?P<name>e)  . [abc] [^a-z]  ^ $ \\A \\z
    \\d \\w \\s \\D \\W \\S \\.

An expression has to match the whole name, as in Kafka 4.0, which uses RE2/J; of that syntax flags, Unicode classes and
word boundaries are missing here. Back references and look-around are in neither.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_letters, digits, whitespace
from typing import Final

from ....protocol.errors import ApiError, ErrorCode

MAX_PATTERN_CHARS: Final = 1_000
MAX_STEPS: Final = 2_000
MAX_DEPTH: Final = 50
MAX_MOVES: Final = 10_000
KNOWN_PATTERNS: Final = 256

REPEATS: Final = ("*", "+", "?", "{")
ALL: Final = frozenset(map(chr, range(128)))
CLASSES: Final = {
    "d": frozenset(digits),
    "w": frozenset(ascii_letters + digits + "_"),
    "s": frozenset(whitespace),
}
ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}

Chars = frozenset[str]


@dataclass(slots=True)
class Step:
    """A state: takes one of `chars` on to `then`, or nothing where there are none; `at` limits it to start or end."""

    chars: Chars | None = None
    at: str = ""
    then: list[int] = field(default_factory=list)


class TopicPattern:
    """A compiled expression."""

    def __init__(self, steps: list[Step], first: int, last: int) -> None:
        self._steps = steps
        self._last = last
        self._first = first
        self._moves: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def matches(self, name: str) -> bool:
        """Whether the whole name is described."""
        states = self._closure([self._first], at_start=True, at_end=not name)
        for at, char in enumerate(name, 1):
            states = self._move(states, char, at_end=at == len(name))
            if not states:
                return False
        return self._last in states

    def _move(self, states: frozenset[int], char: str, *, at_end: bool) -> frozenset[int]:
        key = (states, char + "$" if at_end else char)
        known = self._moves.get(key)
        if known is None:
            if len(self._moves) >= MAX_MOVES:
                self._moves.clear()
            taken = [
                target
                for state in states
                if (chars := self._steps[state].chars) is not None and char in chars
                for target in self._steps[state].then
            ]
            known = self._moves[key] = self._closure(taken, at_start=False, at_end=at_end)
        return known

    def _closure(self, states: list[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        found: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in found:
                continue
            found.add(state)
            step = self._steps[state]
            is_open = not step.at or (step.at == "start" and at_start) or (step.at == "end" and at_end)
            if step.chars is None and is_open:
                waiting += step.then
        return frozenset(found)


@lru_cache(maxsize=KNOWN_PATTERNS)
def compile_pattern(text: str) -> TopicPattern:
    """The expression, ready to match. Raises: ApiError INVALID_REGULAR_EXPRESSION."""
    if len(text) > MAX_PATTERN_CHARS:
        raise _invalid(text, f"has {len(text)} characters, {MAX_PATTERN_CHARS} are allowed")
    return _Parser(text).parse()


def _invalid(text: str, why: str) -> ApiError:
    return ApiError(f"the expression {text[:80]!r} {why}", ErrorCode.INVALID_REGULAR_EXPRESSION)


Fragment = tuple[int, int]


class _Parser:
    """Recursive descent; each part becomes states from an entry to an exit."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._steps: list[Step] = []

    def parse(self) -> TopicPattern:
        first, last = self._alternatives()
        if self._at < len(self._text):
            raise self._fault("has a ) that nothing opens")
        return TopicPattern(self._steps, first, last)

    def _fault(self, why: str) -> ApiError:
        return _invalid(self._text, f"{why}, at character {self._at}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise self._fault("ends too early")
        self._at += 1
        return char

    def _took(self, wanted: str) -> bool:
        if not self._text.startswith(wanted, self._at):
            return False
        self._at += len(wanted)
        return True

    # States

    def _new(self, chars: Chars | None = None, at: str = "") -> int:
        if len(self._steps) >= MAX_STEPS:
            raise self._fault("is too large")
        self._steps.append(Step(chars, at))
        return len(self._steps) - 1

    def _link(self, state: int, *targets: int) -> None:
        self._steps[state].then += targets

    def _single(self, chars: Chars | None = None, at: str = "") -> Fragment:
        entry, exit_ = self._new(chars, at), self._new()
        self._link(entry, exit_)
        return entry, exit_

    def _sequence(self, first: Fragment, second: Fragment) -> Fragment:
        self._link(first[1], second[0])
        return first[0], second[1]

    # Syntax

    def _alternatives(self) -> Fragment:
        found = [self._branch()]
        while self._took("|"):
            found.append(self._branch())
        if len(found) == 1:
            return found[0]
        entry, exit_ = self._new(), self._new()
        for first, last in found:
            self._link(entry, first)
            self._link(last, exit_)
        return entry, exit_

    def _branch(self) -> Fragment:
        found = self._single()
        while self._peek() not in ("", "|", ")"):
            found = self._sequence(found, self._repeated())
        return found

    def _repeated(self) -> Fragment:
        begin = self._at
        found = self._atom()
        bounds = self._bounds()
        if bounds is None:
            return found
        end = self._at
        found = self._repeat(begin, found, *bounds)
        self._at = end
        self._took("?")
        if self._peek() in REPEATS:
            raise self._fault("repeats a repetition")
        return found

    def _bounds(self) -> tuple[int, int | None] | None:
        for mark, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._took(mark):
                return bounds
        if self._peek() != "{":
            return None
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if end < 0 or not low.isdecimal() or not (high.isdecimal() or not high):
            raise self._fault("has a { that is no number of times")
        self._at = end + 1
        least = int(low)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise self._fault(f"asks for {least} to {most} times")
        return least, most

    def _repeat(self, begin: int, once: Fragment, least: int, most: int | None) -> Fragment:
        """`once` is used first; further copies are parsed again from where the repeated part begins."""
        copies = [once] if most != 0 else []
        wanted = max(least, 1) if most is None else most
        while len(copies) < wanted:
            self._at = begin
            copies.append(self._atom())
        found = self._single()
        exit_ = self._new()
        for number, copy in enumerate(copies):
            if number >= least:
                self._link(found[1], exit_)
            found = self._sequence(found, copy)
        if most is None and copies:
            self._link(copies[-1][1], copies[-1][0])
        self._link(found[1], exit_)
        return found[0], exit_

    def _atom(self) -> Fragment:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._single(self._class())
        if char == ".":
            return self._single(ALL - {"\n"})
        if char in "^$":
            return self._single(at="start" if char == "^" else "end")
        if char == "\\":
            return self._escape()
        if char in REPEATS:
            raise self._fault(f"repeats nothing with {char}")
        return self._single(frozenset(char))

    def _group(self) -> Fragment:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._fault("is nested too deeply")
        if self._took("?") and not self._took(":"):
            end = self._text.find(">", self._at)
            if not self._took("P<") or end < 0:
                raise self._fault("has a group of an unknown kind")
            self._at = end + 1
        found = self._alternatives()
        if not self._took(")"):
            raise self._fault("has a ( that nothing closes")
        self._depth -= 1
        return found

    def _escape(self) -> Fragment:
        char = self._take()
        if char in "Az":
            return self._single(at="start" if char == "A" else "end")
        return self._single(self._escaped(char))

    def _escaped(self, char: str) -> Chars:
        if char.lower() in CLASSES:
            chars = CLASSES[char.lower()]
            return ALL - chars if char.isupper() else chars
        if char.isalnum() and char not in ESCAPES:
            raise self._fault(f"has an unknown \\{char}")
        return frozenset(ESCAPES.get(char, char))

    def _class(self) -> Chars:
        negated = self._took("^")
        chars: set[str] = set()
        is_first = True
        while is_first or self._peek() != "]":
            is_first = False
            low = self._class_member()
            if len(low) == 1 and self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                chars |= self._range(low, self._class_member())
            else:
                chars |= low
        self._at += 1
        return ALL - chars if negated else frozenset(chars)

    def _class_member(self) -> Chars:
        char = self._take()
        return self._escaped(self._take()) if char == "\\" else frozenset(char)

    def _range(self, low: Chars, high: Chars) -> Chars:
        (first,) = low
        last = next(iter(high))
        if len(high) != 1 or last < first:
            raise self._fault("has a range that ends before it begins")
        return frozenset(map(chr, range(ord(first), min(ord(last), 0x7F) + 1)))
