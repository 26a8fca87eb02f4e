"""`stepdown config --explain FILE`: says how each setting of a server.properties is treated."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

from ...config import ConfigError
from ...config.errors import Problem
from ...config.keys.value_types import render
from ...config.remark import Remark
from ...config.sources.properties_file import decode, parse_properties
from ...config.startup_settings import find_remarks_and_problems
from ...config.tables.all_keys import BROKER_KEYS

Row = dict[str, object]
REFUSED = "refused"
TITLES = {
    REFUSED: "stops the start",
    "remark": "taken, and told at the start",
    "no effect": "without effect",
    "acts": "takes effect",
}
"""The states of a setting, worst first, with their headings."""


def explain_properties(path: Path) -> list[Row]:
    """A row for each setting in the order of the file. Raises: ConfigError for a file that cannot be read."""
    remarks, problems = find_remarks_and_problems(path)
    unreadable = [problem for problem in problems if problem.origin.place != str(path)]
    if unreadable:
        raise ConfigError(unreadable)
    return [
        *_explain_entries(
            path, {each.origin.line: each for each in problems}, {each.origin.line: each for each in remarks}
        )
    ]


def _explain_entries(path: Path, problems: Mapping[int, Problem], remarks: Mapping[int, Remark]) -> Iterator[Row]:
    entries = parse_properties(decode(path.read_bytes()))
    lines = {entry.key: entry.line for entry in entries}
    for entry in entries:
        row: Row = {"name": entry.key, "line": entry.line}
        if entry.line in problems:
            yield row | {"state": REFUSED, "why": problems[entry.line].expected}
        elif entry.line in remarks:
            remark = remarks[entry.line]
            yield row | {"state": "no effect" if remark.is_quiet else "remark", "why": remark.text}
        elif stronger := _find_overriding_key(entry.key, lines):
            yield row | {"state": "no effect", "why": f"gives way to {stronger} on line {lines[stronger]}"}
        else:
            yield row | {"state": "acts", "why": _describe_default(entry.key)}


def _find_overriding_key(name: str, given: Container[str]) -> str | None:
    """Returns the key in the file that overrides `name`, as log.retention.ms overrides log.retention.hours."""
    synonyms = BROKER_KEYS[name].synonyms if name in BROKER_KEYS else ()
    before = synonyms[: synonyms.index(name)] if name in synonyms else ()
    return next((each for each in before if each in given), None)


def _describe_default(name: str) -> str:
    key = BROKER_KEYS.get(name)
    return "" if key is None else f"default {render(key.default) or 'none'}"


def plain_text(path: Path, rows: Sequence[Row]) -> Iterator[str]:
    """Yields lines for people, with the settings grouped by their state."""
    for state, title in TITLES.items():
        chosen = [row for row in rows if row["state"] == state]
        if chosen:
            yield f"{title}: {len(chosen)}"
            yield from (f"  {path}:{row['line']}: {row['name']}{_reason_text(row)}" for row in chosen)


def _reason_text(row: Row) -> str:
    why = str(row["why"])
    return why if why.startswith("=") else f" {why}" if row["state"] != "acts" else f"  ({why})" if why else ""
