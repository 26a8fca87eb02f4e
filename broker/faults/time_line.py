"""What the brokers of a test did last, for the text of its failure."""

from collections.abc import Iterable
from itertools import groupby

from .request_log import Event, RequestEvent

MOST_LINES = 30
MOST_REQUESTS = 12
"""Of these, requests that went well, where more has happened: else they push out the fault or election before them."""
MOST_CHARACTERS = 160
USUAL = frozenset({"Fetch", "Heartbeat", "ConsumerGroupHeartbeat"})
"""Requests that clients repeat; they are shown only where something came of them."""


def time_line(events: Iterable[Event]) -> list[str]:
    """The last events of a log, in order, each with its time before the last one; a screen of them at most."""
    shown = [each for each in events if not _is_usual(each)]
    if not shown:
        return []
    last_ms = shown[-1].at_ms
    groups = [list(same) for _, same in groupby(shown, lambda each: each.line)]
    kept = _last(groups)
    left_out = len(groups) - len(kept)
    lines = [_line(same, last_ms) for same in kept]
    return ([f"({left_out} more lines: kafka.requests.lines(), or GET /events)"] if left_out else []) + lines


def _is_usual(event: Event) -> bool:
    return isinstance(event, RequestEvent) and event.api in USUAL and _went_well(event)


def _went_well(event: Event) -> bool:
    """Whether it is a request that no fault touched, and that had an answer without an error."""
    return isinstance(event, RequestEvent) and event.answer == [] and not event.faults


def _last(groups: list[list[Event]]) -> list[list[Event]]:
    """Those that are shown."""
    went_well = [at for at, (first, *_) in enumerate(groups) if _went_well(first)]
    others = [at for at, (first, *_) in enumerate(groups) if not _went_well(first)]
    others = others[-(MOST_LINES - min(len(went_well), MOST_REQUESTS)) :]
    went_well = went_well[-(MOST_LINES - len(others)) :]
    return [groups[at] for at in sorted(others + went_well)]


def _line(same: list[Event], last_ms: int) -> str:
    more = f" ({len(same)} times)" if len(same) > 1 else ""
    line = same[0].line
    cut = line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
    return f"{(same[0].at_ms - last_ms) / 1000:9.3f} s  {cut}{more}"
