"""Bringing a log safely to the disk, and how far it is: the recovery point.

Source: Kafka 3.9 `UnifiedLog.flush`, `LocalLog.flush`: the segments from the recovery point up are synced, the folder
as well when a segment is new in it, then the recovery point moves.
"""

from typing import Protocol

from ...protocol.errors import DiskFault
from ..files.clock import Clock
from ..files.files import Files
from ..producers.producer_tracking import ProducerTracking
from .leader_epochs import LeaderEpochs
from .segment import Segment
from .segments import Segments


class Flushable(Protocol):
    """What a flush reads and changes of a log."""

    clock: Clock
    directory: str
    epochs: LeaderEpochs
    fault: DiskFault | None
    files: Files
    is_released: bool
    last_flush_ms: int
    log_end_offset: int
    producers: ProducerTracking
    recovery_point: int
    segments: Segments

    def take_closed_segments(self) -> list[Segment]: ...


class Flush:
    """One flush, planned where the log is appended to; `run` may be called anywhere.

    It makes offsets below `offset` durable. `run` only syncs, so it may be called from a worker thread beside appends.
    `finish` comes after it, where the log is appended to. A snapshot of the producers that is missing meanwhile costs
    time after a crash: an older one is read, and the batches since.
    """

    __slots__ = ("_log", "_segments", "_snapshot", "offset")

    def __init__(self, log: Flushable, offset: int, *, include_active: bool) -> None:
        """Called where the log is appended to.

        Raises: DiskFault when index entries cannot be written.
        """
        self._log = log
        self.offset = offset
        end = offset + 1 if include_active else offset
        # A segment may have been flushed before it was closed, which writes its last time entry.
        segments = [*log.take_closed_segments(), *log.segments.reaching(log.recovery_point, end)]
        self._segments = list({id(segment): segment for segment in segments}.values())
        self._snapshot = log.producers.take_planned_snapshot()
        for segment in self._segments:
            segment.offset_index.write_out()
            segment.time_index.write_out()

    def run(self) -> None:
        """Return when it is done. After a failure the log takes no more appends: what was not synced may be lost.

        A log that was deleted, moved or taken offline meanwhile has nothing left to sync. Raises: DiskFault.
        """
        log = self._log
        if log.is_released:
            return
        if log.fault is not None:
            raise log.fault
        if self._snapshot is not None:
            self._snapshot.encode_data()
        try:
            for segment in self._segments:
                self._sync(segment)
            if any(segment.base_offset >= log.recovery_point for segment in self._segments):
                log.files.sync_directory(log.directory)
            if not log.is_released:
                log.epochs.sync()
        except DiskFault as fault:
            if log.is_released:  # its folder may have another name by now
                return
            log.fault = fault
            raise
        log.recovery_point = max(log.recovery_point, min(self.offset, log.log_end_offset))
        log.last_flush_ms = log.clock.monotonic_ms()

    def finish(self) -> None:
        """Write the snapshot of the producers that `run` has encoded, if one was planned. Raises: DiskFault."""
        log, snapshot = self._log, self._snapshot
        if snapshot is None or log.is_released or log.fault is not None:
            return
        if all(segment.base_offset != snapshot.offset for segment in log.segments):
            return
        try:
            log.producers.write_planned_snapshot(snapshot)
        except DiskFault as fault:
            log.fault = fault
            raise

    def _sync(self, segment: Segment) -> None:
        try:
            segment.sync()
        except DiskFault:
            if segment in self._log.segments:  # else it was deleted meanwhile
                raise
