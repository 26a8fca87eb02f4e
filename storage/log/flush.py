"""Syncs a log to the disk and advances its recovery point: below that, all is on the disk.

It syncs the segments from the recovery point on, and the folder if a segment in it is new, and then moves the recovery
point. Source: Kafka 3.9 `UnifiedLog.flush`, `LocalLog.flush`.
"""

from typing import Protocol

from ...protocol.errors import DiskFault
from ..files.clock import Clock
from ..files.files import Files
from ..producers.producer_tracking import ProducerTracking
from .leader_epochs import LeaderEpochs
from .segment import Segment
from .segments import Segments


class LogToFlush(Protocol):
    """The attributes of a log that a flush reads and changes."""

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
    """One flush, which makes all offsets below `offset` durable.

    It is constructed in the thread that appends to the log. `run` only syncs, so a worker thread may call it beside
    appends. After it, the appending thread calls `write_producer_snapshot`. A crash between the two only costs time:
    the next start reads an older snapshot and the batches after it.
    """

    __slots__ = ("_log", "_segments", "_snapshot", "offset")

    def __init__(self, log: LogToFlush, offset: int, *, include_active: bool) -> None:
        """Writes out the index entries. Raises: DiskFault when they cannot be written."""
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
        """Syncs the segments. After a failure the log takes no more appends: bytes that were not synced may be lost.

        Does nothing if the log was deleted, moved or taken offline meanwhile. Raises: DiskFault.
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

    def write_producer_snapshot(self) -> None:
        """Writes the producer snapshot that `run` has encoded, if one was planned. Raises: DiskFault."""
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
