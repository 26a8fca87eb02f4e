"""Durations of requests for the page: how many requests fall into each bucket."""

from collections.abc import Iterable
from typing import Any

from ..metrics.instruments import HistogramRow
from ..turn import Turn


async def sum_durations(rows: Iterable[tuple[str, HistogramRow]], turn: Turn) -> list[dict[str, Any]]:
    """Adds up the rows of each name; returns a row for each name with observations."""
    by_name: dict[str, list[int]] = {}
    for name, (_, buckets, _) in rows:
        counts = _counts_by_bucket(count for _, count in buckets)
        known = by_name.setdefault(name, [0] * len(counts))
        by_name[name] = [one + other for one, other in zip(known, counts, strict=True)]
        await turn.next()
    return [
        {"api": name, "count": sum(counts), "durations": counts}
        for name, counts in sorted(by_name.items())
        if any(counts)
    ]


def _counts_by_bucket(cumulative: Iterable[float]) -> list[int]:
    """The count of each bucket, from cumulative counts."""
    counts, before = [], 0
    for count in map(int, cumulative):
        counts.append(count - before)
        before = count
    return counts
