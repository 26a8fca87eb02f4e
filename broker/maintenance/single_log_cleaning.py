"""Cleans one log: steps of about 1 MB in a worker thread, segment replacement on the event loop."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ...network.worker_threads import WorkerThreads
from ...protocol.errors import RecordTooLarge
from ...storage.compaction.cleanable_range import CleanableRange
from ...storage.compaction.compaction import Compaction, CompactionLimits, SegmentExchange
from ...storage.compaction.segment_replacement import swap_in
from ..metadata.partition import Partition

if TYPE_CHECKING:
    from ..core import Core

P = ParamSpec("P")
R = TypeVar("R")

STEP_BYTES: Final = 1 << 20
SHORTEST_PAUSE_MS: Final = 10
LEAST_IO_BYTES: Final = 4096
LEAST_LOAD_FACTOR: Final = 0.01
MOST_LOAD_FACTOR: Final = 0.99
"""Kafka has no bounds for `log.cleaner.io.buffer.load.factor`, and 512 bytes for all threads' buffers."""

log = logging.getLogger(__name__)


class SingleLogCleaning:
    """Cleans the range `what` of one log; `cancel` ends that before the next step."""

    def __init__(self, core: "Core", threads: WorkerThreads, partition: Partition, what: CleanableRange) -> None:
        self._core = core
        self._threads = threads
        self._partition = partition
        self._what = what
        self._work = Compaction(what, self._limits(), core.clock.now_ms())
        self._is_cancelled = False
        self._unpaid_bytes = 0
        self._pause: asyncio.Future[None] | None = None

    def _limits(self) -> CompactionLimits:
        settings = self._core.settings
        threads = max(1, settings.log_cleaner_threads)
        return CompactionLimits(
            map_bytes=settings.log_cleaner_dedupe_buffer_bytes // threads,
            load_factor=min(max(settings.log_cleaner_io_buffer_load_factor, LEAST_LOAD_FACTOR), MOST_LOAD_FACTOR),
            io_bytes=max(LEAST_IO_BYTES, settings.log_cleaner_io_buffer_bytes // threads // 2),
            max_opened_bytes=settings.stepdown_decompression_max_bytes,
        )

    @property
    def clean_end(self) -> int:
        """The offset below which the log is clean, once `run` has done all."""
        return self._work.clean_end

    def cancel(self) -> None:
        self._is_cancelled = True
        self._end_pause()

    def _end_pause(self) -> None:
        if self._pause is not None and not self._pause.done():
            self._pause.set_result(None)

    async def run(self) -> bool:
        """Cleans the log; returns whether all was done. Raises: CorruptRecord, RecordTooLarge, DiskFault."""
        began = perf_counter()
        steps = self._work.steps()
        try:
            is_done = await self._run_steps(steps)
        finally:
            await self._run_in_thread(steps.close)
        if is_done:
            self._report(perf_counter() - began)
        return is_done

    async def _run_steps(self, steps: Iterator[int | SegmentExchange]) -> bool:
        while not self._is_cancelled:
            done_bytes, exchange, is_over = await self._run_in_thread(_run_some_steps, steps)
            if is_over:
                return True
            if exchange is not None:
                if not self._swap_in(exchange):
                    return False
                await self._run_in_thread(self._core.log_manager.files.sync_directory, exchange.cleaned.directory)
            await self._throttle(done_bytes)
        return False

    def _swap_in(self, exchange: SegmentExchange) -> bool:
        partition = self._partition
        is_there = self._core.log_manager.logs.get(partition.key) is self._what.log
        if not is_there:
            exchange.cleaned.discard()  # deleted, or moved to another disk meanwhile
            return False
        return swap_in(partition.log, exchange.cleaned, exchange.replaced, self._core.clock.now_ms())

    async def _throttle(self, done_bytes: int) -> None:
        """Waits as long as `log.cleaner.io.max.bytes.per.second` asks for `done_bytes`, unless it is cancelled."""
        self._unpaid_bytes += done_bytes
        pause_ms = 1000 * self._unpaid_bytes / self._core.settings.log_cleaner_io_max_bytes_per_second
        if pause_ms >= SHORTEST_PAUSE_MS and not self._is_cancelled:
            self._unpaid_bytes = 0
            self._pause = asyncio.get_running_loop().create_future()
            timer = self._core.clock.call_later(pause_ms, self._end_pause)
            await self._pause
            timer.cancel()

    def _report(self, seconds: float) -> None:
        what, work = self._what, self._work
        if work.clean_end == what.first_dirty:
            message = f"{what.log.name}: log.cleaner.dedupe.buffer.size is too small for the keys of one batch"
            raise RecordTooLarge(message)
        metrics = self._core.metrics
        metrics.cleaner_runs.add()
        metrics.cleaner_read_bytes.add(what.clean_bytes + what.dirty_bytes)
        metrics.cleaner_written_bytes.add(work.bytes_written)
        metrics.cleaner_seconds.add(seconds)
        log.info(
            "%s is clean below offset %d: %d of %d records left, %.1f of %.1f MiB, in %.2f s",
            what.log.name, work.clean_end, work.records_kept, work.records_read,
            work.bytes_written / (1 << 20), (what.clean_bytes + what.dirty_bytes) / (1 << 20), seconds,
        )  # fmt: skip

    async def _run_in_thread(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._threads.run(partial(work, *args, **kwargs))


def _run_some_steps(steps: Iterator[int | SegmentExchange]) -> tuple[int, SegmentExchange | None, bool]:
    """Runs steps of about `STEP_BYTES`.

    Returns the bytes done, the exchange at which it stopped, if any, and whether all is done.
    """
    done_bytes = 0
    while done_bytes < STEP_BYTES:
        step = next(steps, None)
        if step is None or isinstance(step, SegmentExchange):
            return done_bytes, step, step is None
        done_bytes += step
    return done_bytes, None, False
