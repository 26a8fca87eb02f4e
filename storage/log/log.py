"""The log of one partition: appends at its end, reads anywhere.

    log start <= recovery point <= log end          offsets; the log end is the offset of the next record

An append (Kafka 3.9 `UnifiedLog.append`) checks the producer state and the size against segment.bytes, rolls, writes,
and then updates the log end, leader epochs, producer state and transaction index. A failure before or during the write
leaves the log as it was.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...protocol.records.batch_header import BatchHeader, batch_headers_in
from ...protocol.records.layout import RECORD_BATCH_OVERHEAD
from ...protocol.records.v2_header import stamp_header
from ..files.clock import Clock
from ..files.file_handle import Buffer
from ..files.file_names import MAX_OFFSET
from ..files.files import Files
from ..producers.producer_states import BatchSequence
from ..producers.producer_tracking import ProducerTracking
from ..validation.prepared_append import PreparedAppend
from . import retention
from .delayed_deletion import PendingDeletions
from .flush import Flush
from .leader_epochs import LeaderEpochs
from .log_config import LogConfig
from .log_reader import LogReading
from .producer_replay import rebuild_producers
from .segment import Segment
from .segments import Segments

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class AppendInfo:
    """The offsets of an appended record set, the last one included; they are -1 for an empty set.

    A duplicate was not written: its offsets and time are those of the batch that it repeats.
    """

    first_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    duplicate: bool = False


class Log(LogReading):
    """The segments of one partition, with its leader epochs and producer state."""

    __slots__ = (
        "_closed",
        "_deletions",
        "_is_as_opened",
        "_latest_epoch",
        "_rolled",
        "clock",
        "config",
        "directory",
        "epochs",
        "fault",
        "files",
        "is_offline",
        "is_released",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producers",
        "recovery_point",
        "segments",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        *,
        files: Files,
        clock: Clock,
        directory: str,
        topic: str,
        partition: int,
        topic_id: UUID | None,
        config: LogConfig,
        segments: Segments,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        epochs: LeaderEpochs,
        producers: ProducerTracking,
        deletions: PendingDeletions,
        is_clean: bool = False,
        rolled: Callable[["Log"], None] | None = None,
    ) -> None:
        """`is_clean`: all of it is on the disk. `rolled` is called when a closed segment needs a flush."""
        self.files = files
        self.clock = clock
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.config = config
        self.segments = segments
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.epochs = epochs
        self.producers = producers
        self.fault: DiskFault | None = None
        self.is_offline = self.is_released = False
        self.last_flush_ms = clock.monotonic_ms()
        self._deletions = deletions
        self._rolled = rolled
        self._closed: list[Segment] = []  # since the last flush
        self._latest_epoch: int | None = None  # not read from its file yet
        self._is_as_opened = is_clean  # nothing to flush or trim when it closes

    def __repr__(self) -> str:
        return f"Log({self.name}, [{self.log_start_offset}, {self.log_end_offset}))"

    @property
    def starts_inside_segment(self) -> bool:
        """Whether the log starts after the base offset of its first segment, so that a checkpoint has to keep it."""
        return self.log_start_offset > self.segments[0].base_offset

    def reconfigure(self, config: LogConfig) -> None:
        """Uses these settings from the next append, roll and cleaning on."""
        self.config = config

    # Appending

    def append(self, prepared: PreparedAppend, *, leader_epoch: int, may_be_duplicate: bool = True) -> AppendInfo:
        """Gives the batch its offsets and writes it.

        Raises: ApiError RECORD_LIST_TOO_LARGE 18, 45, 47, 48, 52, 1 if no offset is left; DiskFault.
        """
        if not prepared.head:
            return AppendInfo(log_start_offset=self.log_start_offset)
        if may_be_duplicate and prepared.producer_id >= 0:
            repeated = self.producers.find_duplicate(prepared)
            if repeated is not None:
                return self._append_info_of(repeated)
        first_offset = self.log_end_offset
        last_offset = first_offset + prepared.last_offset_delta
        head = stamp_header(prepared.head, first_offset, leader_epoch)
        self._write((head, prepared.body), first_offset, last_offset, prepared.max_timestamp, last_offset)
        if leader_epoch != self._latest_epoch:
            self._assign_epoch(leader_epoch, first_offset)
        if prepared.producer_id >= 0:
            for aborted in self.producers.track_append(prepared, first_offset):
                self.segments.active.ensure_transaction_index().append(aborted)
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()
        return AppendInfo(first_offset, last_offset, prepared.log_append_time_ms, self.log_start_offset)

    def append_as_follower(self, data: Buffer) -> AppendInfo:
        """Writes whole batches of any magic that have their offsets already, as a follower does.

        Raises: CorruptRecord, ApiError RECORD_LIST_TOO_LARGE 18, OFFSET_OUT_OF_RANGE when they do not begin at or above
        the log's end; DiskFault.
        """
        headers = list(batch_headers_in(data))
        if not headers:
            return AppendInfo(log_start_offset=self.log_start_offset)
        self._check_offsets(headers)
        first_offset = max(
            self.log_end_offset, headers[0].base_offset if headers[0].magic >= 2 else self.log_end_offset
        )
        newest = max(headers, key=lambda header: header.max_timestamp)
        last_offset = headers[-1].last_offset
        self._write(
            [memoryview(data)[: headers[-1].end]],
            first_offset,
            last_offset,
            newest.max_timestamp,
            newest.last_offset,
        )
        for header in headers:
            if header.magic < 2:
                self.epochs.clear()
                self._latest_epoch = None
            elif header.leader_epoch >= 0:
                self._assign_epoch(header.leader_epoch, header.base_offset)
            body = memoryview(data)[header.position + RECORD_BATCH_OVERHEAD : header.end]
            for aborted in self.producers.replay(header, body):
                self.segments.active.ensure_transaction_index().append(aborted)
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()
        return AppendInfo(
            first_offset=first_offset,
            last_offset=last_offset,
            log_start_offset=self.log_start_offset,
        )

    def _check_offsets(self, headers: Sequence[BatchHeader]) -> None:
        next_offset = self.log_end_offset
        for header in headers:
            if header.base_offset < next_offset or header.last_offset < header.base_offset:
                raise ApiError(
                    f"{self.name}: a batch of offsets {header.base_offset}-{header.last_offset}, {next_offset} is next",
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                )
            next_offset = header.last_offset + 1

    def _write(
        self,
        pieces: Sequence[Buffer],
        first_offset: int,
        last_offset: int,
        max_timestamp: int,
        newest: int,
    ) -> None:
        if self.fault is not None:
            raise DiskFault(f"{self.name}: closed to writing since: {self.fault}")
        if last_offset >= MAX_OFFSET:  # responses have the log end, which is one more
            raise ApiError(
                f"{self.name}: a batch of offsets {first_offset}-{last_offset}, of which {MAX_OFFSET - 1} is the last: "
                "write to another topic",
                ErrorCode.OFFSET_OUT_OF_RANGE,
            )
        config, size_bytes = self.config, sum(map(len, pieces))
        if size_bytes > config.segment_bytes:
            raise ApiError(
                f"{self.name}: a record set of {size_bytes} bytes, segment.bytes is {config.segment_bytes}",
                ErrorCode.RECORD_LIST_TOO_LARGE,
            )
        self._is_as_opened = False
        segment = self.segments.active
        if segment.should_roll(size_bytes, last_offset, max_timestamp, config, self.clock):
            segment = self.roll(first_offset)
        segment.append(pieces, size_bytes, first_offset, last_offset, max_timestamp, newest, config)
        self.log_end_offset = last_offset + 1

    def _assign_epoch(self, epoch: int, start_offset: int) -> None:
        self.epochs.assign(epoch, start_offset)
        self._latest_epoch = epoch

    def begin_epoch(self, epoch: int) -> None:
        """Adds a leader epoch that begins at the end of the log, even if nothing will be written in it.

        Raises: DiskFault.
        """
        self._is_as_opened = False
        self._assign_epoch(epoch, self.log_end_offset)

    def _append_info_of(self, repeated: BatchSequence) -> AppendInfo:
        return AppendInfo(
            first_offset=repeated.first_offset,
            last_offset=repeated.last_offset,
            log_append_time_ms=repeated.timestamp,
            log_start_offset=self.log_start_offset,
            duplicate=True,
        )

    def roll(self, first_offset: int = 0) -> Segment:
        """Begins a new segment at the log's end, or at `first_offset` if that is higher, and returns it.

        Raises: DiskFault.
        """
        base_offset = max(self.log_end_offset, first_offset)
        previous = self.segments.active
        if previous.base_offset == base_offset:
            return previous  # empty
        self._is_as_opened = False
        previous.write_out_and_trim()
        self._closed.append(previous)
        self.producers.take_or_plan_snapshot(base_offset)
        segment = Segment.create(self.files, self.directory, base_offset, self.config, self.clock.now_ms())
        self.segments.append(segment)
        self.log_end_offset = base_offset
        if self._rolled is not None:
            self._rolled(self)
        return segment

    # Shortening

    def advance_log_start(self, offset: int) -> bool:
        """Raises the log start to `offset`, without deleting anything; returns False if it is not below `offset`.

        Raises: ApiError OFFSET_OUT_OF_RANGE above the log's end.
        """
        if offset > self.log_end_offset:
            raise ApiError(
                f"{self.name}: cannot start at {offset}, the log ends at {self.log_end_offset}",
                ErrorCode.OFFSET_OUT_OF_RANGE,
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        return True

    def describe_due_deletions(self, now_ms: int, high_watermark: int) -> list[str]:
        """Describes what `delete_old_segments` would delete now: one text for each reason."""
        reasons = retention.reasons_to_delete(self, now_ms, high_watermark)
        return list(retention.describe_deletion(self, reasons))

    def explain_due_deletion(self, now_ms: int, high_watermark: int) -> str:
        """Returns why `delete_old_segments` would delete records now, for people; "" where it would not."""
        return retention.explain_deletion(self, now_ms, high_watermark)

    def delete_old_segments(self, now_ms: int, high_watermark: int | None = None, *, most: int | None = None) -> int:
        """Deletes the oldest segments that retention allows, at most `most`, and returns how many.

        Only segments below the high watermark (by default the log's end) are deleted.

        Raises: DiskFault.
        """
        end = self.log_end_offset if high_watermark is None else high_watermark
        reasons = retention.reasons_to_delete(self, now_ms, end, most=most)
        count = len(reasons)
        if not count:
            return 0
        if count == len(self.segments):
            self.roll()
            count = min(count, len(self.segments) - 1)
        for text in retention.describe_deletion(self, reasons[:count]):
            _logger.info("%s: deletes %s", self.name, text)
        doomed = [self.segments[at] for at in range(count)]
        self.remove_and_delete_segments(doomed)
        self.advance_log_start(self.segments[0].base_offset)
        return len(doomed)

    def remove_and_delete_segments(self, segments: Sequence[Segment], *, keep_snapshot_at: int | None = None) -> None:
        """Removes these segments from the log and renames their files, which are deleted after `file.delete.delay.ms`.

        `keep_snapshot_at`: the base offset of the segment that replaces them, whose producer snapshot is kept.

        Raises: DiskFault.
        """
        self.segments.remove(segments)
        self._deletions.rename_and_add_segments(segments, self.clock.monotonic_ms() + self.config.file_delete_delay_ms)
        for segment in segments:
            if segment.base_offset != keep_snapshot_at and segment.base_offset in self.producers.snapshots.offsets:
                self.producers.snapshots.remove(segment.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drops everything from `offset` on, with the whole of a batch that contains it.

        Raises: DiskFault.
        """
        if offset >= self.log_end_offset:
            # An epoch in which its leader wrote nothing has an entry too (Kafka: `UnifiedLog.truncateTo`).
            self.epochs.truncate_from_end(self.log_end_offset)
            self._latest_epoch = None
            return
        _logger.info("%s: is truncated from %d to %d", self.name, self.log_end_offset, offset)
        self._is_as_opened = False
        now_ms = self.clock.now_ms()
        doomed = [segment for segment in self.segments if segment.base_offset > offset]
        if len(doomed) == len(self.segments):
            self.segments.append(Segment.create(self.files, self.directory, offset, self.config, now_ms))
        self.remove_and_delete_segments(doomed)
        active = self.segments.active
        active.truncate_to(offset, now_ms)
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.epochs.truncate_from_end(offset)
        self._latest_epoch = None
        rebuild_producers(self.producers, self.segments, self.log_start_offset, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drops everything; the empty log then starts and ends at `offset`, which is above the old end.

        Raises: DiskFault.
        """
        _logger.info("%s: all of its %d bytes are deleted, it goes on at offset %d",
                     self.name, self.segments.size_bytes, offset)  # fmt: skip
        self._is_as_opened = False
        now_ms = self.clock.now_ms()
        doomed = list(self.segments)
        self.segments.append(Segment.create(self.files, self.directory, offset, self.config, now_ms))
        self.remove_and_delete_segments(doomed)
        self.log_end_offset = self.log_start_offset = self.recovery_point = offset
        self.epochs.clear()
        self._latest_epoch = None
        rebuild_producers(self.producers, self.segments, offset, offset)

    # Flushing and closing

    def is_due_for_flush(self, now_ms: int) -> bool:
        """Whether it has data that was not flushed, and its last flush was at least `flush.ms` ago."""
        is_unflushed = self.recovery_point < self.log_end_offset and self.fault is None
        return is_unflushed and now_ms - self.last_flush_ms >= self.config.flush_ms

    def plan_flush(self) -> Flush:
        """A flush of all that is written so far, to be run in this thread or a worker thread."""
        return Flush(self, self.log_end_offset, include_active=True)

    def plan_flush_of_closed_segments(self) -> Flush:
        """A flush of the closed segments."""
        return Flush(self, self.segments.active.base_offset, include_active=False)

    def take_closed_segments(self) -> list[Segment]:
        """The segments closed since the last call, which a flush has to sync."""
        closed, self._closed = self._closed, []
        return closed

    def flush(self) -> None:
        """Returns when all that was appended is on the disk.

        Raises: DiskFault.
        """
        flush = self.plan_flush()
        flush.run()
        flush.write_producer_snapshot()

    def close(self, *, sync: bool = True) -> None:
        """Flushes, writes the producer snapshot, trims the files and closes them.

        Without `sync` the recovery point is not moved; the caller syncs the file system and moves it then.

        Raises: DiskFault.
        """
        if self.fault is not None:
            self.release()
            raise self.fault
        if self._is_as_opened:
            self.release()
            return
        for segment in self.segments.reaching(self.recovery_point):
            segment.write_out_and_trim()
        if sync:
            self.flush()
        self.producers.take_snapshot(self.log_end_offset, sync=sync)
        self.release()

    def move_recovery_point_to_end(self) -> None:
        """Moves it; the caller knows that all of the log is on the disk."""
        self.recovery_point = self.log_end_offset

    def close_after_deletion(self) -> None:
        """Closes the files and refuses appends: the folder is deleted, and another log may get its name."""
        self.fault = DiskFault(f"{self.name} is deleted")
        self.release()

    def take_offline(self, fault: DiskFault) -> None:
        """Closes the files and refuses appends and reads from now on."""
        self.fault, self.is_offline = fault, True
        self.release()

    def check_online(self) -> None:
        """Raises: DiskFault when the log was taken offline."""
        if self.is_offline:
            raise DiskFault(f"{self.name} is offline: {self.fault}")

    def release(self) -> None:
        """Closes the files without writing anything."""
        self.is_released = True
        for segment in self.segments:
            segment.close()
