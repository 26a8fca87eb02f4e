"""The filters that a reader takes over from Spark (pushdown), as limits on topics, partitions, offsets and time.

Consumed, so that Spark does not look again: topic and partition (=, IN), offset (=, <, <=, >, >=). Used to leave
batches out, and looked at again by Spark: timestamp (=, >, >=). All others are handed back, a comparison with null too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from ..reading.splits import MAX_OFFSET


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedFilters:
    """The rows that are wanted: None for any topic, partition or time. Offsets from `first` to `end` (open)."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first: int = 0
    end: int = MAX_OFFSET
    min_timestamp: int | None = None

    def wants(self, topic: str, partition: int) -> bool:
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )


def take_over_filters(filters: Iterable[Filter], pushed: PushedFilters) -> tuple[PushedFilters, list[Filter]]:
    """What rows may be after these filters as well, and the filters that Spark has to look at."""
    left = []
    for each in filters:
        before = pushed
        pushed = _add_filter(each, before)
        if pushed is before or _column_of_filter(each) == "timestamp":
            left.append(each)
    return pushed, left


def _column_of_filter(each: Filter) -> str:
    attribute: tuple[str, ...] = getattr(each, "attribute", ())
    return attribute[0] if len(attribute) == 1 else ""


def _add_filter(each: Filter, pushed: PushedFilters) -> PushedFilters:
    """`pushed` itself when the filter cannot be taken over; else a new value, even if it says the same."""
    values = list(_values_of_filter(each))
    match _column_of_filter(each):
        case "topic" if values and all(isinstance(value, str) for value in values):
            topics = frozenset(values)
            return replace(pushed, topics=topics if pushed.topics is None else pushed.topics & topics)
        case "partition" if values and all(_is_number(value) for value in values):
            partitions = frozenset(values)
            return replace(
                pushed, partitions=partitions if pushed.partitions is None else pushed.partitions & partitions
            )
        case "offset" if _is_number(getattr(each, "value", None)):
            return _add_offset_filter(each, pushed)
        case "timestamp":
            return _add_timestamp_filter(each, pushed)
        case _:
            return pushed


def _values_of_filter(each: Filter) -> Iterator[Any]:
    if isinstance(each, EqualTo):
        yield each.value
    elif isinstance(each, In):
        yield from each.value


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _add_offset_filter(each: Filter, pushed: PushedFilters) -> PushedFilters:
    match each:
        case EqualTo(value=value):
            return replace(pushed, first=max(pushed.first, value), end=min(pushed.end, value + 1))
        case GreaterThan(value=value):
            return replace(pushed, first=max(pushed.first, value + 1))
        case GreaterThanOrEqual(value=value):
            return replace(pushed, first=max(pushed.first, value))
        case LessThan(value=value):
            return replace(pushed, end=min(pushed.end, value))
        case LessThanOrEqual(value=value):
            return replace(pushed, end=min(pushed.end, value + 1))
        case _:
            return pushed


def _add_timestamp_filter(each: Filter, pushed: PushedFilters) -> PushedFilters:
    if not isinstance(each, EqualTo | GreaterThan | GreaterThanOrEqual):
        return pushed
    value = each.value
    if not isinstance(value, datetime) or value.tzinfo is None:
        return pushed
    # Rounded down: a batch is left out by mistake never, kept by mistake sometimes.
    least = int(value.timestamp() // 0.001) - 1
    return replace(pushed, min_timestamp=max(least, least if pushed.min_timestamp is None else pushed.min_timestamp))
