"""The broker's periodic work on its logs: retention, flushing, checkpoints, late deletions, expired producers.

| work | every | rule |
|---|---|---|
| retention | log.retention.check.interval.ms | storage, section 7 |
| flush | log.flush.scheduler.interval.ms | logs unflushed for flush.ms |
| recovery points | log.flush.offset.checkpoint.interval.ms | storage, section 1 |
| log starts | log.flush.start.offset.checkpoint.interval.ms | |
| high watermarks | replica.high.watermark.checkpoint.interval.ms | |
| sync of closed segments, late deletions, look for removed folders | 1 s, only looks at what is due | |
| producers | producer.id.expiration.check.interval.ms | produce, section 7 |
| client report | 1 min, and at the end | only where stepdown.client.report.file names a file |

A worker thread syncs; everything else is short and yields between logs, or between the producers of a log.
"""

import logging
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ...network.http.clients_page import render_report
from ...network.turn import Turn
from ...protocol.errors import DiskFault
from ...storage.directories.missing_folders import find_logs_without_folder
from ...storage.files.files import Files
from ...storage.log.flush import Flush
from ...storage.log.log import Log
from ..metadata.partition import Partition
from ..scheduling.periodic_task import Periodic

if TYPE_CHECKING:
    from ..core import Core

TIDY_INTERVAL_MS = 1000
REPORT_INTERVAL_MS = 60_000
SEGMENTS_A_STEP = 16

log = logging.getLogger(__name__)

MOST_NAMED: Final = 10
"""How many partitions of a directory are logged one by one when they go offline together."""


async def delete_old_segments(core: "Core", partition: Partition, turn: Turn) -> None:
    """Deletes segments by the retention settings, in turns; not before the notice if the topic was taken over. Raises:

    DiskFault.
    """
    now_ms, high_watermark = core.clock.now_ms(), partition.high_watermark
    describe = partial(partition.log.describe_due_deletions, now_ms, high_watermark)
    if not core.first_deletion_delay.may_delete(partition, describe):
        return
    start = partition.log.log_start_offset
    why = partition.log.explain_due_deletion(now_ms, high_watermark) if core.control is not None else ""
    while partition.log.fault is None:
        if partition.log.delete_old_segments(now_ms, high_watermark, most=SEGMENTS_A_STEP) < SEGMENTS_A_STEP:
            break
        await turn.next()
    end = partition.log.log_start_offset
    if end > start and partition.leader_id == core.cluster.node_id:
        core.on_due(f"{partition.log.name}: retention deleted records {start} to {end - 1}: {why}")


class LogMaintenance:
    """Runs the periodic work of one broker."""

    def __init__(self, core: "Core") -> None:
        self._core = core
        self._tasks: list[Periodic] = []

    def start(self) -> None:
        settings, clock = self._core.settings, self._core.clock
        first_ms = settings.log_initial_task_delay_ms
        for name, work, interval_ms in (
            ("retention", self.apply_retention, settings.log_retention_check_interval_ms),
            ("flush", self._flush, settings.log_flush_scheduler_interval_ms),
            ("recovery point checkpoint", self._checkpoint_recovery, settings.log_flush_offset_checkpoint_interval_ms),
            ("log start checkpoint", self._checkpoint_starts, settings.log_flush_start_offset_checkpoint_interval_ms),
        ):
            self._tasks.append(Periodic(name, clock, work, interval_ms, first_ms=min(first_ms, interval_ms)))
        for name, work, interval_ms in (
            ("high watermarks", self._checkpoint_watermarks, settings.replica_high_watermark_checkpoint_interval_ms),
            ("what is due", self._tidy_logs, TIDY_INTERVAL_MS),
            ("producer expiry", self._expire_producers, settings.producer_id_expiration_check_interval_ms),
        ):
            self._tasks.append(Periodic(name, clock, work, interval_ms))
        if settings.stepdown_client_report_file:
            self._tasks.append(Periodic("client report", clock, self._write_client_report, REPORT_INTERVAL_MS))

    async def stop(self) -> None:
        await self.abandon()
        with self._core.rounds.catch_item_fault("high watermarks", "checkpoint at the stop"):
            await self._checkpoint_watermarks()
        with self._core.rounds.catch_item_fault("first deletions", "checkpoint at the stop"):
            await self._core.run_in_worker(self._core.first_deletion_delay.save)
        if self._core.settings.stepdown_client_report_file:
            with self._core.rounds.catch_item_fault("client report", self._core.settings.stepdown_client_report_file):
                await self._write_client_report()

    async def abandon(self) -> None:
        """Ends the periodic work, without writing checkpoints."""
        for task in self._tasks:
            await task.stop()
        self._tasks.clear()

    async def apply_retention(self) -> None:
        """Deletes segments by the retention settings; the log cleaner does that for compacted topics."""
        turn = self._core.turns.begin()
        for partition in self._core.cluster.each_local_partition():
            which = partition.log
            if which.fault is None and which.config.has_delete_policy and not which.config.is_compacted:
                with self._core.rounds.catch_item_fault("retention", which.name):
                    await delete_old_segments(self._core, partition, turn)
            await turn.next()

    async def _flush(self) -> None:
        turn = self._core.turns.begin()
        for each in tuple(self._core.log_manager.logs.values()):
            with self._core.rounds.catch_item_fault("flush", each.name):
                if each.is_due_for_flush(self._core.clock.monotonic_ms()):
                    await self._sync(each, each.plan_flush())
            await turn.next()

    async def _checkpoint_recovery(self) -> None:
        await self._core.run_in_worker(self._core.log_manager.checkpoints.write_recovery_points)

    async def _checkpoint_starts(self) -> None:
        await self._core.run_in_worker(self._core.log_manager.checkpoints.write_log_starts)

    async def _checkpoint_watermarks(self) -> None:
        marks, turn = {}, self._core.turns.begin()
        for partition in self._core.cluster.each_local_partition():
            marks[partition.key] = partition.high_watermark
            await turn.next()
        await self._core.run_in_worker(self._core.log_manager.checkpoints.write_high_watermarks, marks)

    async def _tidy_logs(self) -> None:
        """Syncs closed segments, deletes files after their delay, takes logs offline whose folder is gone."""
        for rolled in self._core.log_manager.take_rolled_logs():
            with self._core.rounds.catch_item_fault("flush", rolled.name):
                await self._sync(rolled, rolled.plan_flush_of_closed_segments())
        taken = []
        for missing in await self._core.run_in_worker(self._tidy_directories, self._core.clock.monotonic_ms()):
            with self._core.rounds.catch_item_fault("look for folders", missing.name):
                if self._core.log_manager.take_offline_if_unusable(missing):
                    taken.append(missing)
        _log_offline_partitions(taken)
        reason = self._core.log_manager.reason_to_halt
        if reason is not None:
            self._core.fail(reason)

    def _tidy_directories(self, now_ms: int) -> list[Log]:
        """Deletes files that are due; returns the logs whose folder is missing. For a worker thread."""
        self._core.log_manager.deletions.delete_due(now_ms)
        return find_logs_without_folder(self._core.log_manager)

    async def _sync(self, which: Log, flush: Flush) -> None:
        """Runs one flush in a worker thread; a disk failure is logged, and `which` takes no more appends."""
        began = perf_counter()
        try:
            await self._core.run_in_worker(flush.run)
            flush.write_producer_snapshot()
        except DiskFault as fault:
            log.error("%s cannot be synced and takes no more appends: %s", which.name, fault)
        self._core.metrics.flush_duration.observe(perf_counter() - began)

    async def _write_client_report(self) -> None:
        core = self._core
        path = core.settings.stepdown_client_report_file
        assert path is not None
        if len(core.cluster.brokers) > 1:
            path = f"{path}.{core.cluster.node_id}"
        await core.run_in_worker(_write_report, core.log_manager.files, path, core.clients.make_document_maker())

    async def _expire_producers(self) -> None:
        now_ms = self._core.clock.now_ms()
        expiration_ms = self._core.settings.producer_id_expiration_ms
        turn = self._core.turns.begin()
        for partition in self._core.cluster.each_local_partition():
            with self._core.rounds.catch_item_fault("producer expiry", partition.log.name):
                for _ in partition.log.producers.state.expire(now_ms, expiration_ms):
                    await turn.next()
            await turn.next()


def _log_offline_partitions(logs: list[Log]) -> None:
    for each in logs[:MOST_NAMED]:
        log.error("%s is offline until the broker is started again: %s", each.name, each.fault)
    if len(logs) > MOST_NAMED:
        log.error("%d more partitions are offline with these", len(logs) - MOST_NAMED)


def _write_report(files: Files, path: str, make_document: Callable[[], dict[str, Any]]) -> None:
    """Writes the client report. For a worker thread."""
    files.replace(path, render_report(make_document), sync=False)
