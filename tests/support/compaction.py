"""Cleaning a log in a test's own thread."""

from contextlib import suppress

from stepdown.storage.compaction.cleanable_range import CleanableRange, find_cleanable_range
from stepdown.storage.compaction.compaction import Compaction, CompactionLimits, SegmentExchange
from stepdown.storage.compaction.segment_replacement import swap_in
from stepdown.storage.log.log import Log
from support.files import Crash


def limits(map_bytes: int = 1 << 20, io_bytes: int = 1 << 16, load_factor: float = 0.9) -> CompactionLimits:
    return CompactionLimits(map_bytes=map_bytes, load_factor=load_factor, io_bytes=io_bytes, max_opened_bytes=1 << 24)


def part(log: Log, checkpoint: int | None = None, now_ms: int | None = None) -> CleanableRange:
    """What may be cleaned now, up to the last stable offset."""
    unstable = log.first_unstable_offset
    stable = log.log_end_offset if unstable is None else unstable
    return find_cleanable_range(log, checkpoint, stable, log.clock.now_ms() if now_ms is None else now_ms)


def clean(
    log: Log, checkpoint: int | None = None, now_ms: int | None = None, allowed: CompactionLimits | None = None
) -> Compaction:
    """Cleans the log once, whatever its dirty ratio; `clean_end` of the answer is the next checkpoint."""
    now_ms = log.clock.now_ms() if now_ms is None else now_ms
    work = Compaction(part(log, checkpoint, now_ms), allowed or limits(), now_ms)
    steps = work.steps()
    try:
        for step in steps:
            if isinstance(step, SegmentExchange):
                assert swap_in(log, step.cleaned, step.replaced, now_ms)
    finally:
        with suppress(Crash):  # a process that has ended tidies nothing up
            steps.close()
    return work
