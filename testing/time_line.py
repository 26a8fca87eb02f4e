"""What the brokers of a test did last, for the text of its failure."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

MOST_LINES = 30
MOST_CHARACTERS = 160
USUAL = frozenset({"Fetch", "Heartbeat", "ConsumerGroupHeartbeat"})
"""Requests that clients repeat; they are shown only where something came of them."""


def time_line(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """The last events of a log, in order, each with its time before the last one; a screen of them at most."""
    shown = [each for each in events if not _is_usual(each)]
    if not shown:
        return []
    last_ms = shown[-1]["at_ms"]
    lines = [_line(list(same), last_ms) for _, same in groupby(shown, lambda each: each["line"])]
    left_out = len(lines) - MOST_LINES
    return ([f"({left_out} earlier lines: kafka.requests.lines())"] if left_out > 0 else []) + lines[-MOST_LINES:]


def _is_usual(event: Mapping[str, Any]) -> bool:
    return event.get("api") in USUAL and event["answer"] == [] and not event["faults"]


def _line(same: list[Mapping[str, Any]], last_ms: int) -> str:
    more = f" ({len(same)} times)" if len(same) > 1 else ""
    line = str(same[0]["line"])
    cut = line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
    return f"{(same[0]['at_ms'] - last_ms) / 1000:9.3f} s  {cut}{more}"
