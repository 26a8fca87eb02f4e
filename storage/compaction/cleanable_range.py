"""Which part of a log may be compacted, and whether that is due.

    clean [0, first dirty)      cleaned before; read again to remove records that later keys replace
    dirty [first dirty, end)    its keys are put into the offset map
    the rest                    the active segment, unstable offsets, and segments younger than min.compaction.lag.ms

`end` is the start of the first segment that may not be cleaned. A log is cleaned when dirty / (clean + dirty) bytes
exceeds `min.cleanable.dirty.ratio`, or when its first dirty record is older than `max.compaction.lag.ms`.
Source: Kafka 3.9, LogCleanerManager.cleanableOffsets, LogToClean.
"""

from dataclasses import dataclass

from ..log.log import Log
from ..log.log_config import FOREVER
from ..log.segment import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanableRange:
    """The range [first_dirty, end) of one log; `clean_bytes` and `dirty_bytes` count whole segments."""

    log: Log
    first_dirty: int
    end: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool = False

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        if not self.dirty_bytes:
            return False
        return self.is_overdue or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def find_cleanable_range(log: Log, checkpoint: int | None, last_stable_offset: int, now_ms: int) -> CleanableRange:
    """The range that may be cleaned now; `checkpoint` is the offset where the last cleaning ended, None if none did."""
    start = log.log_start_offset
    first_dirty = start if checkpoint is None or not start <= checkpoint <= log.log_end_offset else checkpoint
    uncleanable = _first_uncleanable_offset(log, first_dirty, last_stable_offset, now_ms)
    end = log.segment_base_of(max(first_dirty, uncleanable))  # only whole segments are cleaned
    first = min(first_dirty, end)
    dirty = [] if end <= log.segments[0].base_offset else log.segments.reaching(first, end)
    clean = [each for each in log.segments if each.base_offset < first and each not in dirty]
    return CleanableRange(
        log=log,
        first_dirty=first_dirty,
        end=end,
        clean_bytes=sum(segment.size for segment in clean),
        dirty_bytes=sum(segment.size for segment in dirty),
        is_overdue=_is_overdue(log, first_dirty, now_ms),
    )


def _first_uncleanable_offset(log: Log, first_dirty: int, last_stable_offset: int, now_ms: int) -> int:
    offsets = [last_stable_offset, log.segments.active.base_offset]
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        young = (each for each in _inactive_segments(log, first_dirty) if each.largest_timestamp() > now_ms - lag_ms)
        offsets.extend(segment.base_offset for segment in list(young)[:1])
    return min(offsets)


def _inactive_segments(log: Log, offset: int) -> list[Segment]:
    return [segment for segment in log.segments.reaching(offset) if segment is not log.segments.active]


def _is_overdue(log: Log, first_dirty: int, now_ms: int) -> bool:
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms >= FOREVER:
        return False
    firsts = [segment.first_timestamp() for segment in _inactive_segments(log, first_dirty)]
    return any(0 < first < now_ms - lag_ms for first in firsts)
