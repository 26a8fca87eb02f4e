"""How the files of an archive lie: by topic, and by day or month (UTC) of the records' timestamps if wanted.

date      topic=<topic>/date=2023-11-14/
month     topic=<topic>/month=2023-11-01/     the first day, so that readers take it for a date
topic     topic=<topic>/
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np

PartitionBy = Literal["date", "month", "topic"]
KINDS: Sequence[PartitionBy] = get_args(PartitionBy)

_DAY_US = 86_400_000_000
_EPOCH_DAY = date(1970, 1, 1)


def partition_columns(kind: PartitionBy) -> list[str]:
    """The columns that the folders name."""
    return ["topic"] if kind == "topic" else ["topic", kind]


def first_days_of_periods(kind: PartitionBy, times: Any) -> Any:
    """The first day, counted from 1970, of the period of each time (an array of microseconds)."""
    days = times // _DAY_US
    if kind == "date":
        return days
    if kind == "topic":
        return np.zeros_like(days)
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


def partition_values(kind: PartitionBy, topic: str, period: int) -> dict[str, str]:
    """The values of `partition_columns` for a topic and the first day of a period."""
    return {"topic": topic} if kind == "topic" else {"topic": topic, kind: _day_name(period)}


def folder_of(values: dict[str, str]) -> str:
    """The folder for these values."""
    return "/".join(f"{name}={value}" for name, value in values.items())


def _day_name(day: int) -> str:
    """The day as `2023-11-14`; one that a calendar does not have as the last that it has."""
    try:
        return (_EPOCH_DAY + timedelta(days=day)).isoformat()
    except OverflowError:
        return (datetime.max if day > 0 else datetime.min).replace(tzinfo=UTC).date().isoformat()
