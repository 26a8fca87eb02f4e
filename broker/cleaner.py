"""The log cleaner: compacts the logs of topics whose `cleanup.policy` has compact, the dirtiest first.

Work is done by `log.cleaner.threads` threads of its own, below the priority of all others, about a megabyte at a
time; the loop only puts cleaned segments in place, by renaming. With nothing to do it looks again after
`log.cleaner.backoff.ms`. Retention of these topics (`compact,delete`, and what DeleteRecords left) is the cleaner's
too, so that nobody else takes a segment that is being cleaned.

A log that cannot be read is left alone until the next start; a disk that fails or is full is tried again.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ..protocol.errors import ApiError, DiskFault
from ..storage.checkpoint import TopicPartition
from ..storage.cleanable import Cleanable, cleanable
from ..storage.cleaned_segment import swap_in
from ..storage.compaction import Compaction, Exchange, Limits
from ..storage.log import Log
from .cluster import Topic
from .partition import Partition
from .periodic import Periodic

if TYPE_CHECKING:
    from .broker import Broker

P = ParamSpec("P")
R = TypeVar("R")

STEP_BYTES: Final = 1 << 20
LOGS_A_TURN: Final = 20
SHORTEST_PAUSE_MS: Final = 10
NICENESS: Final = 10

log = logging.getLogger(__name__)


class Cleaner:
    """Compaction in one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._tasks: list[Periodic] = []
        self._threads: ThreadPoolExecutor | None = None
        self._clean_below: dict[TopicPartition, int] = {}
        self._in_progress: set[TopicPartition] = set()
        self._uncleanable: dict[TopicPartition, Log] = {}
        self._is_stopping = False
        self._paid_bytes = 0

    # Life

    def start(self) -> None:
        """Nothing happens before `log.cleaner.backoff.ms` have passed."""
        settings = self._broker.settings
        if not settings.log_cleaner_enable or settings.log_cleaner_threads < 1:
            return
        self._clean_below = self._broker.log_dirs.cleaner_offsets()
        self._broker.topics.on_deleted.append(self._forget)
        self._threads = ThreadPoolExecutor(
            settings.log_cleaner_threads, thread_name_prefix="cleaner", initializer=_be_nice
        )
        self._tasks = [
            Periodic(f"log cleaner {number}", self._broker.clock, self.clean_all, settings.log_cleaner_backoff_ms)
            for number in range(settings.log_cleaner_threads)
        ]

    async def stop(self) -> None:
        """Gives up what is being cleaned, within a step's time."""
        self._is_stopping = True
        for task in self._tasks:
            await task.stop()
        if self._threads is not None:
            self._threads.shutdown()

    async def idle(self) -> None:
        """Returns when nothing is being cleaned."""
        for task in self._tasks:
            await task.idle()

    def _forget(self, topics: Sequence[Topic]) -> None:
        for topic in topics:
            for partition in topic.partitions.values():
                self._clean_below.pop(partition.key, None)
                self._uncleanable.pop(partition.key, None)

    # A round

    async def clean_all(self) -> None:
        """Lets go of what is too old, then cleans what is due, one log after the other, until nothing is.

        In this order, other than Kafka's, as cleaning may join an old segment with a young one.
        """
        await self._retain()
        while not self._is_stopping and (found := await self._dirtiest()) is not None:
            partition, what = found
            self._in_progress.add(partition.key)
            try:
                if not await self._clean(partition, what):
                    break
            finally:
                self._in_progress.discard(partition.key)
        await self._broker.heavy(self._broker.log_dirs.checkpoint_cleaner_offsets, dict(self._clean_below))

    async def _compacted(self) -> list[Partition]:
        """Compacted partitions that nobody works on."""
        found = []
        for at, partition in enumerate(self._broker.cluster.partitions(), 1):
            if partition.log.config.is_compacted and partition.key not in self._in_progress:
                found.append(partition)
            if at % (LOGS_A_TURN * LOGS_A_TURN) == 0:
                await self._broker.breathe()
        return found

    async def _dirtiest(self) -> tuple[Partition, Cleanable] | None:
        best: tuple[Partition, Cleanable] | None = None
        now_ms = self._broker.clock.now_ms()
        for at, partition in enumerate(await self._compacted(), 1):
            what = self._cleanable(partition, now_ms)
            if what is not None and (best is None or what.dirty_ratio > best[1].dirty_ratio):
                best = partition, what
            if at % LOGS_A_TURN == 0:
                await self._broker.breathe()
        return None if best is None or best[0].key in self._in_progress else best

    def _cleanable(self, partition: Partition, now_ms: int) -> Cleanable | None:
        if self._uncleanable.get(partition.key) is partition.log or partition.log.fault is not None:
            return None
        try:
            what = cleanable(partition.log, self._clean_below.get(partition.key), partition.last_stable_offset, now_ms)
            return what if what.is_due else None
        except ApiError as fault:
            self._give_up(partition, fault)
            return None

    # One log

    async def _clean(self, partition: Partition, what: Cleanable) -> bool:
        """Whether to go on with the next log at once."""
        work = Compaction(what, self._limits(), self._broker.clock.now_ms())
        steps = work.steps()
        began = perf_counter()
        try:
            is_done = await self._carry_out(partition, steps)
        except DiskFault as fault:
            log.warning("%s could not be cleaned and is tried again: %s", what.log.name, fault)
            return False
        except ApiError as fault:
            self._give_up(partition, fault)
            return True
        finally:
            await self._run(steps.close)
        if is_done:
            self._done(partition, what, work, perf_counter() - began)
        return is_done

    def _limits(self) -> Limits:
        settings = self._broker.settings
        threads = max(1, settings.log_cleaner_threads)
        return Limits(
            map_bytes=settings.log_cleaner_dedupe_buffer_bytes // threads,
            load_factor=settings.log_cleaner_io_buffer_load_factor,
            io_bytes=max(1, settings.log_cleaner_io_buffer_bytes // threads // 2),
            max_opened_bytes=settings.stepdown_decompression_max_bytes,
        )

    async def _carry_out(self, partition: Partition, steps: Iterator[int | Exchange]) -> bool:
        """Whether all was done. Raises: as the steps do."""
        while not self._is_stopping:
            done_bytes, exchange, is_over = await self._run(_advance, steps)
            if exchange is not None and not self._exchange(partition, exchange):
                return False
            if is_over:
                return True
            if exchange is not None:
                await self._run(self._broker.log_dirs.files.sync_directory, exchange.cleaned.directory)
            await self._throttle(done_bytes)
        return False

    def _exchange(self, partition: Partition, exchange: Exchange) -> bool:
        is_there = self._broker.log_dirs.logs.get(partition.key) is partition.log
        if not is_there or exchange.cleaned.directory != partition.log.directory:
            exchange.cleaned.discard()  # deleted, or moved to another disk meanwhile
            return False
        return swap_in(partition.log, exchange.cleaned, exchange.replaced, self._broker.clock.now_ms())

    async def _throttle(self, done_bytes: int) -> None:
        """Sleeps as long as `log.cleaner.io.max.bytes.per.second` asks for what was read and written."""
        self._paid_bytes += done_bytes
        pause_ms = 1000 * self._paid_bytes / self._broker.settings.log_cleaner_io_max_bytes_per_second
        if pause_ms >= SHORTEST_PAUSE_MS:
            self._paid_bytes = 0
            await self._broker.clock.sleep(pause_ms)

    def _done(self, partition: Partition, what: Cleanable, work: Compaction, seconds: float) -> None:
        self._clean_below[partition.key] = work.clean_end
        if work.clean_end == what.first_dirty:
            log.warning("%s: log.cleaner.dedupe.buffer.size is too small for the keys of one batch", what.log.name)
            self._uncleanable[partition.key] = partition.log
            return
        log.info(
            "%s is clean below offset %d: %d of %d records left, %.1f of %.1f MiB, in %.2f s",
            what.log.name, work.clean_end, work.records_kept, work.records_read,
            work.bytes_written / (1 << 20), (what.clean_bytes + what.dirty_bytes) / (1 << 20), seconds,
        )  # fmt: skip

    def _give_up(self, partition: Partition, fault: ApiError) -> None:
        self._uncleanable[partition.key] = partition.log
        log.error("%s is not cleaned any more until the next start: %s", partition.log.name, fault)

    async def _run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))

    # Retention

    async def _retain(self) -> None:
        """Deletes old segments of compacted logs, by time and size only if their policy has delete too."""
        for at, partition in enumerate(await self._compacted(), 1):
            if partition.key not in self._in_progress and partition.log.fault is None:
                try:
                    partition.log.delete_old_segments(self._broker.clock.now_ms(), partition.high_watermark)
                except DiskFault as fault:
                    log.warning("%s: old segments could not be deleted: %s", partition.log.name, fault)
            if at % LOGS_A_TURN == 0:
                await self._broker.breathe()


def _advance(steps: Iterator[int | Exchange]) -> tuple[int, Exchange | None, bool]:
    """How many bytes were worked on; the exchange at which it stopped, if any; whether all is done."""
    done_bytes = 0
    while done_bytes < STEP_BYTES:
        step = next(steps, None)
        if step is None or isinstance(step, Exchange):
            return done_bytes, step, step is None
        done_bytes += step
    return done_bytes, None, False


def _be_nice() -> None:
    """Lets all other threads go first, where the system knows such a thing."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
