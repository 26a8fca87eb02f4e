"""The options of `stepdown consume`, checked and parsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..support.record_formats import RecordFormat
from .record_output import RecordRenderer
from .start_positions import StartPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeOptions:
    """`partitions`: None for all. `start`: None for the group's committed offsets, or `otherwise` where it has none."""

    topics: Sequence[str]
    partitions: Sequence[int] | None
    start: StartPosition | None
    otherwise: StartPosition
    until_end: bool
    count: int | None
    group: str | None
    isolation: int
    form: RecordFormat
    render: RecordRenderer
