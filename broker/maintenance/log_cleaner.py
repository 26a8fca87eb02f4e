"""The log cleaner: compacts the logs of topics whose `cleanup.policy` has compact, the dirtiest first.

Its own `log.cleaner.threads` threads, of lower priority, do the work in steps of about a megabyte; the event loop only
renames cleaned segments into place. With nothing to do it looks again after `log.cleaner.backoff.ms`. The cleaner also
does the retention of these topics (`compact,delete`, and after DeleteRecords), so that no segment is deleted while it
is being cleaned.

A log whose cleaning fails is left alone until the next start, whatever the reason (Kafka: `LogCleaningException`,
`uncleanable-partitions-count`), and the others are cleaned; a disk that fails or is full is tried again.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ...network.worker_threads import WorkerThreads
from ...protocol.errors import ApiError, DiskFault
from ...storage.compaction.cleanable_range import CleanableRange, find_cleanable_range
from ...storage.files.checkpoint_file import TopicPartition
from ...storage.log.log import Log
from ..metadata.image import Topic
from ..metadata.partition import Partition
from ..scheduling.periodic_task import FOREVER_MS, Periodic
from .log_maintenance import delete_old_segments

if TYPE_CHECKING:
    from ..core import Core
    from ..metadata.topics import Topics
    from .single_log_cleaning import SingleLogCleaning

MOST_THREADS: Final = 64
NICENESS: Final = 10

log = logging.getLogger(__name__)


class Cleaner:
    """Compaction in one broker."""

    def __init__(self, core: "Core", topics: "Topics") -> None:
        self._topics = topics
        self._core = core
        self._tasks: list[Periodic] = []
        self._threads: WorkerThreads | None = None
        self._clean_below: dict[TopicPartition, int] = {}
        self._in_progress: set[TopicPartition] = set()
        self._cleaning: dict[TopicPartition, SingleLogCleaning] = {}
        self._uncleanable: dict[TopicPartition, Log] = {}
        self._is_stopping = False
        self._looked_ms: int | None = None
        self.max_dirty_ratio: float | None = None

    # What is shown

    @property
    def since_last_run_s(self) -> float | None:
        """Seconds since the cleaner last looked for work; None before it did."""
        return None if self._looked_ms is None else (self._core.clock.monotonic_ms() - self._looked_ms) / 1000

    @property
    def active_count(self) -> int:
        """How many logs are being cleaned now."""
        return len(self._cleaning)

    @property
    def uncleanable_count(self) -> int:
        """How many logs are set aside because their cleaning failed."""
        return len(self._uncleanable)

    # Life

    def start(self) -> None:
        """Starts the tasks, which first look for work after `log.cleaner.backoff.ms`."""
        if not self._core.settings.log_cleaner_enable:
            return
        self._clean_below = self._core.log_manager.checkpoints.cleaner_offsets()
        self._topics.on_deleted.append(self._forget)
        self._topics.on_configured.append(self._apply_settings)
        # The pool makes only as many threads as there are tasks at work.
        self._threads = WorkerThreads(MOST_THREADS, "cleaner", self._core.clock, nicer_by=NICENESS)
        self._apply_settings()

    def _apply_settings(self) -> None:
        """Adapts the tasks to the present `log.cleaner.threads` and `log.cleaner.backoff.ms`.

        A task that is not wanted any more ends after its present log. Other settings apply from the next log on.
        """
        wanted, backoff_ms = self._core.settings.log_cleaner_threads, self._core.settings.log_cleaner_backoff_ms
        for number in range(len(self._tasks), wanted):
            work = partial(self.clean_all, number)
            self._tasks.append(Periodic(f"log cleaner {number}", self._core.clock, work, backoff_ms))
        for number, task in enumerate(self._tasks):
            task.repeat_every(backoff_ms if number < wanted else FOREVER_MS)

    async def stop(self) -> None:
        """Cancels the cleaning of logs; each ends after its present step."""
        self._is_stopping = True
        for work in self._cleaning.values():
            work.cancel()
        for task in self._tasks:
            await task.stop()
        if self._threads is not None:
            self._threads.shutdown()

    async def wait_until_idle(self) -> None:
        """Returns when no log is being cleaned."""
        for task in self._tasks:
            await task.wait_until_idle()

    def _forget(self, topics: Sequence[Topic]) -> None:
        for topic in topics:
            for partition in topic.partitions.values():
                self._clean_below.pop(partition.key, None)
                self._uncleanable.pop(partition.key, None)

    # A round

    async def clean_all(self, number: int = 0) -> None:
        """Deletes old segments, then cleans one log after the other until none is due.

        Kafka deletes last, but cleaning may join an old segment with a young one. `number` is the task's: a task that
        is not wanted any more leaves the rest to the others.
        """
        await self._delete_old_segments_of_compacted_logs()
        while self._is_task_wanted(number) and (found := await self._find_dirtiest_log()) is not None:
            partition, what = found
            self._in_progress.add(partition.key)
            try:
                if not await self._clean(partition, what):
                    break
            finally:
                self._in_progress.discard(partition.key)
        await self._core.run_in_worker(
            self._core.log_manager.checkpoints.write_cleaner_offsets, dict(self._clean_below)
        )

    def _is_task_wanted(self, number: int) -> bool:
        return not self._is_stopping and number < self._core.settings.log_cleaner_threads

    async def _find_compacted_partitions(self) -> list[Partition]:
        """Compacted partitions that no task is working on."""
        found, turn = [], self._core.turns.begin()
        for partition in self._core.cluster.each_local_partition():
            if partition.log.config.is_compacted and partition.key not in self._in_progress:
                found.append(partition)
            await turn.next()
        return found

    async def _find_dirtiest_log(self) -> tuple[Partition, CleanableRange] | None:
        best: tuple[Partition, CleanableRange] | None = None
        self._looked_ms, now_ms = self._core.clock.monotonic_ms(), self._core.clock.now_ms()
        highest, turn = 0.0, self._core.turns.begin()
        for partition in await self._find_compacted_partitions():
            what = self._find_cleanable_range(partition, now_ms)
            if what is not None:
                highest = max(highest, what.dirty_ratio)
            if what is not None and what.is_due and (best is None or what.dirty_ratio > best[1].dirty_ratio):
                best = partition, what
            await turn.next()
        self.max_dirty_ratio = highest
        return None if best is None or best[0].key in self._in_progress else best

    def _is_past_first_deletion_delay(self, partition: Partition, cleanable: CleanableRange) -> bool:
        dirty = f"{cleanable.dirty_bytes} bytes below offset {cleanable.end}"
        text = f"what later records replace in {dirty}: cleanup.policy=compact"
        return self._core.first_deletion_delay.may_delete(partition, lambda: [text])

    def _find_cleanable_range(self, partition: Partition, now_ms: int) -> CleanableRange | None:
        if self._uncleanable.get(partition.key) is partition.log or partition.log.fault is not None:
            return None
        try:
            below = self._clean_below.get(partition.key)
            what = find_cleanable_range(partition.log, below, partition.last_stable_offset, now_ms)
            return None if what.is_due and not self._is_past_first_deletion_delay(partition, what) else what
        except Exception as fault:
            self._mark_uncleanable(partition, fault)
            return None

    # One log

    async def _clean(self, partition: Partition, what: CleanableRange) -> bool:
        """Cleans one log; returns whether to clean the next one at once."""
        from .single_log_cleaning import SingleLogCleaning  # imported with the first dirty log

        assert self._threads is not None
        try:
            self._cleaning[partition.key] = work = SingleLogCleaning(self._core, self._threads, partition, what)
            is_done = await work.run()
        except DiskFault as fault:
            log.warning("%s could not be cleaned and is tried again: %s", what.log.name, fault)
            return False
        except Exception as fault:
            self._mark_uncleanable(partition, fault)
            return True
        finally:
            self._cleaning.pop(partition.key, None)
        if is_done:
            self._clean_below[partition.key] = work.clean_end
        return is_done

    def _mark_uncleanable(self, partition: Partition, fault: Exception) -> None:
        self._uncleanable[partition.key] = partition.log
        self._core.metrics.round_faults.of("log cleaning").add()
        trace = None if isinstance(fault, ApiError) else fault
        name = partition.log.name
        log.error("%s is not cleaned any more until the next start: %s", name, fault, exc_info=trace)

    # Retention

    async def _delete_old_segments_of_compacted_logs(self) -> None:
        """Deletes old segments of compacted logs, by time and size only if their policy has delete too."""
        turn = self._core.turns.begin()
        for partition in await self._find_compacted_partitions():
            if partition.key not in self._in_progress and partition.log.fault is None:
                with self._core.rounds.catch_item_fault("retention", partition.log.name):
                    await delete_old_segments(self._core, partition, turn)
            await turn.next()
