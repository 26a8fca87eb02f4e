"""The broker's periodic work on its logs: retention, flushing, checkpoints, late deletions, expired producers.

| work | every | rule |
|---|---|---|
| retention | log.retention.check.interval.ms | storage, section 7 |
| flush | log.flush.scheduler.interval.ms | logs unflushed for flush.ms |
| recovery points | log.flush.offset.checkpoint.interval.ms | storage, section 1 |
| log starts | log.flush.start.offset.checkpoint.interval.ms | |
| high watermarks | replica.high.watermark.checkpoint.interval.ms | |
| late deletions | 1 s, only looks at what is due | file.delete.delay.ms |
| producers | producer.id.expiration.check.interval.ms | produce, section 7 |

Syncing happens in a worker; everything else is short and yields between logs.
"""

from typing import TYPE_CHECKING

from ..storage.log import Log
from .periodic import Periodic

if TYPE_CHECKING:
    from .broker import Broker

DELETION_INTERVAL_MS = 1000
LOGS_A_TURN = 50


class Upkeep:
    """The timers of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._tasks: list[Periodic] = []

    def start(self) -> None:
        settings, clock = self._broker.settings, self._broker.clock
        first_ms = settings.log_initial_task_delay_ms
        for name, work, interval_ms in (
            ("retention", self._retain, settings.log_retention_check_interval_ms),
            ("flush", self._flush, settings.log_flush_scheduler_interval_ms),
            ("recovery point checkpoint", self._checkpoint_recovery, settings.log_flush_offset_checkpoint_interval_ms),
            ("log start checkpoint", self._checkpoint_starts, settings.log_flush_start_offset_checkpoint_interval_ms),
        ):
            self._tasks.append(Periodic(name, clock, work, interval_ms, first_ms=min(first_ms, interval_ms)))
        for name, work, interval_ms in (
            ("high watermarks", self._checkpoint_watermarks, settings.replica_high_watermark_checkpoint_interval_ms),
            ("late deletions", self._delete_due, DELETION_INTERVAL_MS),
            ("producer expiry", self._expire_producers, settings.producer_id_expiration_check_interval_ms),
        ):
            self._tasks.append(Periodic(name, clock, work, interval_ms))

    async def stop(self) -> None:
        for task in self._tasks:
            await task.stop()
        self._tasks.clear()
        await self._checkpoint_watermarks()
