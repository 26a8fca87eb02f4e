"""Compares the records of a test with the expected ones, and describes differences in lines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..protocol.plural import plural

Header = tuple[str, bytes | None]
Expected = bytes | str | None | Mapping[str, object]
"""A value; or a dict with any of key, value, headers, partition, topic, offset. Missing fields match anything."""

MOST_LINES = 30
MOST_CHARACTERS = 1000
FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRecord:
    """A stored record; `timestamp` is ms since 1970."""

    __test__ = False  # pytest must not collect it as a test class

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def as_bytes(data: bytes | str | None) -> bytes | None:
    """Encodes text as UTF-8, and returns bytes and None unchanged. Raises: TypeError for others."""
    if not isinstance(data, bytes | str | None):
        raise TypeError(f"keys and values are bytes, text or None, not {data!r}")
    return data.encode() if isinstance(data, str) else data


def headers_as_bytes(
    headers: Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]],
) -> Sequence[Header]:
    """Headers in order."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, as_bytes(value)) for name, value in pairs)


def assert_same(expected: Sequence[Expected], found: Sequence[TestRecord], *, any_order: bool) -> None:
    """Raises AssertionError if they differ, with a line for each differing record and field, up to a screen."""
    wanted = [_fields_to_expect(each) for each in expected]
    pairs = _pair_in_any_order(wanted, found) if any_order else _pair_in_order(wanted, found)
    lines = [line for want, record in pairs for line in _describe_pair(want, record)]
    if any(_is_difference(line) for line in lines):
        shown = "\n".join(_first_lines_that_differ(lines))
        raise AssertionError(f"{plural(len(wanted), 'record')} expected, {len(found)} found\n{shown}")


def _is_difference(line: str) -> bool:
    return not line.startswith("  ")


def _first_lines_that_differ(lines: Sequence[str]) -> list[str]:
    """Returns the lines, or if there are many, the first that differ."""
    most = lines if len(lines) <= MOST_LINES else [line for line in lines if _is_difference(line)][:MOST_LINES]
    shown = [line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…" for line in most]
    return shown if len(shown) == len(lines) else [*shown, f"({len(lines) - len(shown)} more lines)"]


def _fields_to_expect(expected: Expected) -> dict[str, object]:
    if not isinstance(expected, Mapping):
        return {"value": as_bytes(expected)}
    unknown = [name for name in expected if name not in FIELDS]
    if unknown:
        raise TypeError(f"a record has no {unknown[0]!r}, but {', '.join(FIELDS)}")
    fields = dict(expected)
    for name in ("key", "value"):
        if isinstance(fields.get(name), str):
            fields[name] = str(fields[name]).encode()
    if "headers" in fields:
        fields["headers"] = tuple(headers_as_bytes(fields["headers"]))  # type: ignore[arg-type]
    return fields


Pair = tuple[dict[str, object] | None, TestRecord | None]


def _pair_in_order(wanted: Sequence[dict[str, object]], found: Sequence[TestRecord]) -> list[Pair]:
    most = max(len(wanted), len(found))
    return [(wanted[at] if at < len(wanted) else None, found[at] if at < len(found) else None) for at in range(most)]


def _pair_in_any_order(wanted: Sequence[dict[str, object]], found: Sequence[TestRecord]) -> list[Pair]:
    """Pairs each expectation with a record that meets it, and the rest of both in order."""
    left, unmet, pairs = list(found), [], list[Pair]()
    for want in wanted:
        match = next((record for record in left if _matches(want, record)), None)
        if match is None:
            unmet.append(want)
        else:
            left.remove(match)
            pairs.append((want, match))
    return pairs + _pair_in_order(unmet, left)


def _matches(want: Mapping[str, object], record: TestRecord) -> bool:
    return all(getattr(record, name) == value for name, value in want.items())


def _describe_pair(want: dict[str, object] | None, record: TestRecord | None) -> list[str]:
    if record is None:
        return [f"- missing    {_text_of(want or {})}"]
    place = f"{record.topic}-{record.partition}@{record.offset}"
    if want is None:
        return [f"+ unexpected {place} key={record.key!r} value={record.value!r} headers={dict(record.headers)!r}"]
    wrong = [name for name, value in want.items() if getattr(record, name) != value]
    if not wrong:
        return [f"  as expected {place} {_text_of(want)}"]
    lines = [f"! {place} differs in {', '.join(wrong)}"]
    for name in wrong:
        lines += [f"!   {name} expected {want[name]!r}", f"!   {name} found    {getattr(record, name)!r}"]
    return lines


def _text_of(want: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in want.items())
