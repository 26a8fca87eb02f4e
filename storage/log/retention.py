"""Which of a log's oldest segments retention deletes.

    checked in this order    a segment is deleted
    log start                if the next segment's base offset is not above it, even without the policy "delete"
    size                     while the log stays at or above retention.bytes without the segment
    time                     if its largest timestamp is more than retention.ms ago

It stops at the first segment that stays, and at the high watermark. Source: Kafka 3.9 `UnifiedLog.deleteOldSegments`.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

from ...protocol.plural import describe_age, describe_duration, plural
from .log_config import LogConfig
from .segment import Segment
from .segments import Segments


class LogForRetention(Protocol):
    """The attributes of a log that retention reads."""

    config: LogConfig
    log_start_offset: int
    log_end_offset: int
    segments: Segments


def reasons_to_delete(log: LogForRetention, now_ms: int, high_watermark: int, *, most: int | None = None) -> list[str]:
    """The reason for each segment to delete, the oldest first, at most `most`.

    If there is one for every segment, the caller has to roll a new segment first.
    """
    config = log.config
    most = len(log.segments) if most is None else min(most, len(log.segments))
    count = _count_deletable(log, high_watermark, 0, most, _make_start_rule(log))
    reasons = [f"the log starts at {log.log_start_offset}"] * count
    if config.has_delete_policy:
        count = _count_deletable(log, high_watermark, count, most, _make_size_rule(log, count))
        reasons += [f"retention.bytes={config.retention_bytes}"] * (count - len(reasons))
        count = _count_deletable(log, high_watermark, count, most, _make_age_rule(log, now_ms))
        reasons += [f"retention.ms={config.retention_ms}"] * (count - len(reasons))
    return reasons


def describe_deletion(log: LogForRetention, reasons: Sequence[str]) -> Iterator[str]:
    """Describes the segments of each reason in one text: offsets, number of segments, bytes, the reason."""
    at = 0
    for reason, same in groupby(reasons):
        count = len(list(same))
        segments = log.segments.from_index(at)[:count]
        end = log.segments.next_base_offset(at + count - 1)
        last = (log.log_end_offset if end is None else end) - 1
        size_bytes = sum(segment.size for segment in segments)
        yield f"offsets {segments[0].base_offset} to {last}, {plural(count, 'segment')} of {size_bytes} bytes: {reason}"
        at += count


def explain_deletion(log: LogForRetention, now_ms: int, high_watermark: int) -> str:
    """Why the last of the segments that are due is deleted, for people; "" where none is due."""
    reasons = reasons_to_delete(log, now_ms, high_watermark)
    if not reasons or not reasons[-1].startswith("retention.ms"):
        return reasons[-1] if reasons else ""
    age = describe_age(now_ms - log.segments[len(reasons) - 1].largest_timestamp())
    limit = describe_duration(log.config.retention_ms)
    return f"the newest timestamp is {age} before the brokers' time; retention.ms is {limit}"


def _count_deletable(
    log: LogForRetention, high_watermark: int, count: int, most: int, may_go: Callable[[Segment, int], bool]
) -> int:
    segments = log.segments
    while count < most:
        segment = segments[count]
        next_base = segments.next_base_offset(count)
        end = log.log_end_offset if next_base is None else next_base
        is_empty_active = next_base is None and not segment.size
        if high_watermark < end or is_empty_active or not may_go(segment, end if next_base is not None else -1):
            break
        count += 1
    return count


def _make_start_rule(log: LogForRetention) -> Callable[[Segment, int], bool]:
    return lambda segment, next_base: 0 <= next_base <= log.log_start_offset


def _make_size_rule(log: LogForRetention, gone: int) -> Callable[[Segment, int], bool]:
    limit = log.config.retention_bytes
    surplus = sum(segment.size for segment in log.segments.from_index(gone)) - limit

    def may_go(segment: Segment, next_base: int) -> bool:
        nonlocal surplus
        if limit < 0 or surplus < segment.size:
            return False
        surplus -= segment.size
        return True

    return may_go


def _make_age_rule(log: LogForRetention, now_ms: int) -> Callable[[Segment, int], bool]:
    limit = log.config.retention_ms
    return lambda segment, next_base: limit >= 0 and now_ms - segment.largest_timestamp() > limit
