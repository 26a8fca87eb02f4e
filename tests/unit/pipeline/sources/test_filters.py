"""What is taken over of Spark's filters keeps exactly the rows that they keep; all others are handed back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)
from stepdown.pipeline.sources.filters import PushedFilters, take_over_filters

OFFSET, TOPIC, PARTITION, TIMESTAMP = ("offset",), ("topic",), ("partition",), ("timestamp",)
AT = datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)
AT_MS = 1_700_000_000_123


@pytest.mark.parametrize(
    ("given", "first", "end"),
    [
        (EqualTo(OFFSET, 17), 17, 18),
        (GreaterThan(OFFSET, 17), 18, None),
        (GreaterThanOrEqual(OFFSET, 17), 17, None),
        (LessThan(OFFSET, 17), 0, 17),
        (LessThanOrEqual(OFFSET, 17), 0, 18),
    ],
    ids=lambda given: type(given).__name__,
)
def test_comparisons_of_offsets_are_taken_over(given: Filter, first: int, end: int | None) -> None:
    pushed, left = take_over_filters([given], PushedFilters())
    assert not left
    assert (pushed.first, pushed.end) == (first, PushedFilters().end if end is None else end)


def test_topics_and_partitions_are_taken_over_and_narrow_down() -> None:
    given = [In(TOPIC, ("a", "b")), EqualTo(TOPIC, "b"), In(PARTITION, (1, 2)), EqualTo(PARTITION, 2)]
    pushed, left = take_over_filters(given, PushedFilters())
    assert not left
    assert [name for name in ("a", "b", "c") if pushed.wants(name, 2)] == ["b"]
    assert not pushed.wants("b", 1)
    nothing, _ = take_over_filters([EqualTo(TOPIC, "a"), EqualTo(TOPIC, "b")], PushedFilters())
    assert not nothing.wants("a", 0)
    assert not nothing.wants("b", 0)


@pytest.mark.parametrize("kind", [EqualTo, GreaterThan, GreaterThanOrEqual])
def test_times_are_used_and_handed_back(kind: type[GreaterThan]) -> None:
    for at in (AT, AT.astimezone(timezone(timedelta(hours=5)))):
        pushed, left = take_over_filters([kind(TIMESTAMP, at)], PushedFilters())
        assert len(left) == 1
        assert pushed.min_timestamp is not None
        assert AT_MS - 2 <= pushed.min_timestamp <= AT_MS


@pytest.mark.parametrize(
    "given",
    [
        LessThan(TIMESTAMP, AT),
        GreaterThan(TIMESTAMP, AT.replace(tzinfo=None)),
        EqualNullSafe(OFFSET, 3),
        In(OFFSET, (1, 2)),
        EqualTo(OFFSET, None),
        EqualTo(TOPIC, None),
        In(TOPIC, ("a", None)),
        LessThan(TOPIC, "a"),
        GreaterThan(PARTITION, 1),
        IsNull(OFFSET),
        IsNotNull(OFFSET),
        Not(EqualTo(OFFSET, 3)),
        StringStartsWith(TOPIC, "a"),
        EqualTo(("key",), b"k"),
        EqualTo(("headers", "offset"), 3),
    ],
    ids=str,
)
def test_all_others_are_handed_back_and_keep_everything(given: Filter) -> None:
    assert take_over_filters([given], PushedFilters()) == (PushedFilters(), [given])
