"""Opens the log in a folder, after a clean stop or a crash.

    1. complete or undo interrupted changes                 transient_files.py
    2. open each segment; drop empty ones that lie within another; rebuild indexes that are missing or implausible
    3. without the mark of a clean stop: recover the segments from the recovery point on; drop those after a cut
    4. find the end offset; if it is below the checkpointed start offset, start again empty at the latter
    5. limit leader epochs and producer state to [start, end)

Source: Kafka 3.9 `LogLoader`. Unlike Kafka it checks the last entry of each index, cuts a damaged tail after a clean
stop too, and drops stray segments, which would hide records.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...protocol.errors import CorruptRecord, DiskFault
from ...protocol.plural import plural
from ..files.clock import Clock
from ..files.file_names import (
    LOG,
    MAX_OFFSET,
    OFFSET_INDEX,
    SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    offset_of_file_name,
    segment_file_path,
)
from ..files.files import DISK_FAILURES, NO_DESCRIPTORS, DirectoryEntry, Files, errno_of
from ..files.partition_metadata import FILE_NAME as METADATA_FILE
from ..files.partition_metadata import read_topic_id
from ..log.delayed_deletion import PendingDeletions
from ..log.leader_epochs import LeaderEpochs
from ..log.log import Log
from ..log.log_config import LogConfig
from ..log.producer_replay import rebuild_producers
from ..log.segment import MAX_RELATIVE_OFFSET, Segment
from ..log.segments import Segments
from ..producers.producer_snapshot import Snapshots
from ..producers.producer_states import ProducerStates
from ..producers.producer_tracking import ProducerTracking
from .segment_recovery import SegmentOverflow, recover_segment
from .segment_split import split_segment
from .transient_files import clean_up_transient_files

if TYPE_CHECKING:
    from uuid import UUID

DEFAULT_PRODUCER_EXPIRATION_MS = 86_400_000
_INDEXES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOpening:
    """The parameters for opening a log beside its folder; `clean`: it was stopped cleanly."""

    files: Files
    clock: Clock
    deletions: PendingDeletions
    clean: bool = True
    log_start_offset: int = 0
    recovery_point: int = 0
    producer_expiration_ms: int = DEFAULT_PRODUCER_EXPIRATION_MS
    rolled: Callable[[Log], None] | None = None


def open_log(directory: str, topic: str, partition: int, config: LogConfig, opening: LogOpening) -> Log:
    """Opens the log in `directory`, which exists.

    Raises: DiskFault.
    """
    return _LogLoader(directory, topic, partition, config, opening).load()


class _LogLoader:
    """The steps of opening one log."""

    def __init__(self, directory: str, topic: str, partition: int, config: LogConfig, opening: LogOpening) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.config = config
        self.opening = opening
        self.files = opening.files
        self.epochs = LeaderEpochs(self.files, directory)
        self.segments = Segments([])
        self.producers = ProducerTracking(ProducerStates(f"{topic}-{partition}"), Snapshots(self.files, directory))
        self.was_changed = False  # repairs that are not synced have changed files
        self.producers_at: int | None = None  # the offset that the producer state has reached

    def load(self) -> Log:
        entries = clean_up_transient_files(self.files, self.directory, self.files.entries(self.directory))
        self._open_segments(entries)
        self._drop_strays()
        self._split_until_no_overflow(self._repair)
        end = self._find_end()
        if end < self.opening.recovery_point:  # all records below it were synced
            _logger.error(
                "%s ends at offset %d, but had records up to offset %d on the disk: those are lost. Restore the folder "
                "from a copy while the broker is stopped if they matter",
                self.directory, end, self.opening.recovery_point - 1)  # fmt: skip
        start = max(self.opening.log_start_offset, self.segments[0].base_offset)
        if not self.opening.clean or self.opening.log_start_offset > 0:
            self.epochs.truncate_from_end(end)
            self.epochs.truncate_from_start(start)
        self._load_producers(start, end)
        return self._make_log(start, end, self._read_topic_id(entries))

    # Segments

    def _open_segments(self, entries: list[DirectoryEntry]) -> None:
        sizes: dict[int, dict[str, int]] = {}
        snapshots = []
        for entry in entries:
            base_offset = None if entry.is_directory else offset_of_file_name(entry.name)
            if base_offset is None:
                continue
            suffix = entry.name[20:]
            if suffix == SNAPSHOT:
                snapshots.append(base_offset)
            elif suffix == LOG or suffix in _INDEXES:
                sizes.setdefault(base_offset, {})[suffix] = entry.size_bytes
        self.producers.snapshots = Snapshots(self.files, self.directory, snapshots)
        for base_offset in sorted(sizes):
            self._open_segment(base_offset, sizes[base_offset])

    def _open_segment(self, base_offset: int, sizes: dict[str, int]) -> None:
        if LOG not in sizes:
            for suffix in sizes:
                path = segment_file_path(self.directory, base_offset, suffix)
                _logger.warning("%s belongs to no segment and is deleted", path)
                self.files.remove(path)
            return
        segment = Segment(self.files, self.directory, base_offset, sizes=sizes, created_ms=self.opening.clock.now_ms())
        segment.jitter_ms = self.config.pick_jitter_ms()
        self.segments.append(segment)

    def _drop_strays(self) -> None:
        """Drops the empty segments that begin before the end of the segment before them.

        They would hide its records, and with such a last segment, offsets would be assigned a second time.
        """
        strays: list[Segment] = []
        before: Segment | None = None
        for segment in self.segments:
            if before is not None and self._has_no_batch(segment) and _end_offset_of(before) > segment.base_offset:
                _logger.warning("%s has no batch and lies within %s; it is deleted", segment, before)
                strays.append(segment)
            else:
                before = segment
        if strays:
            self._delete(strays)

    def _has_no_batch(self, segment: Segment) -> bool:
        if segment.offset_index.count or segment.size > self.config.index_interval_bytes:
            return False  # surely not empty; to be certain, each segment would have to be read
        try:
            return next(segment.batches(), None) is None
        except CorruptRecord:
            return True

    def _split_until_no_overflow(self, step: Callable[[], None]) -> None:
        while True:
            try:
                return step()
            except SegmentOverflow as overflow:
                _logger.warning("%s; it is split", overflow)
                parts = split_segment(overflow.segment, self.config, self.opening.clock.now_ms())
                self.segments = Segments(
                    sorted(
                        [*(other for other in self.segments if other is not overflow.segment), *parts],
                        key=lambda segment: segment.base_offset,
                    )
                )

    # Repair

    def _repair(self) -> None:
        if not len(self.segments):
            return
        first_unflushed = len(self.segments)
        if not self.opening.clean:
            first_unflushed = max(0, self.segments.index_of(self.opening.recovery_point))
        for at in range(first_unflushed):
            if not self._looks_right(self.segments[at]):
                self._recover_segment(at)
        if 0 < first_unflushed < len(self.segments):
            # It was flushed before it was closed, so its last time entry may be missing.
            self.segments[first_unflushed - 1].renew_last_time_entry()
        for at in range(first_unflushed, len(self.segments)):
            if self._recover_segment(at):
                self._drop_after(at)
                return

    def _looks_right(self, segment: Segment) -> bool:
        """Returns whether the indexes are plausible; logs a warning if not."""
        path = segment.path
        if not self._has_index(segment, OFFSET_INDEX):
            fault = f"{path(OFFSET_INDEX)} is missing"
        elif not segment.offset_index.looks_right(segment.size) or self._lacks_entries(segment):
            fault = f"{path(OFFSET_INDEX)} does not fit its segment"
        elif not segment.time_index.looks_right() or self._lacks_timestamps(segment):
            fault = f"{path(TIME_INDEX)} does not fit its segment"
        elif segment.transaction_index is not None and not segment.transaction_index.looks_right(segment.base_offset):
            fault = f"{path(TRANSACTION_INDEX)} does not fit its segment"
        else:
            return True
        _logger.warning("%s; the segment's indexes are rebuilt", fault)
        return False

    def _has_index(self, segment: Segment, suffix: str) -> bool:
        return segment.offset_index.count > 0 or self.files.exists(segment.path(suffix))

    def _lacks_entries(self, segment: Segment) -> bool:
        """Whether the offset index is empty, although the second batch is far enough from the start for an entry."""
        if segment.offset_index.count or segment.size <= self.config.index_interval_bytes:
            return False
        try:
            first = next(segment.batches(), None)
        except CorruptRecord:
            return True
        return first is not None and self.config.index_interval_bytes < first.size_bytes < segment.size

    def _lacks_timestamps(self, segment: Segment) -> bool:
        """Whether the time index is empty or ends with zeros, although the segment has later timestamps."""
        if segment.max_timestamp > 0 or not segment.size:
            return False
        try:
            return segment.first_timestamp() > segment.max_timestamp
        except CorruptRecord:
            return True

    def _recover_segment(self, at: int) -> int:
        segment = self.segments[at]
        if not segment.size and not segment.offset_index.count and not segment.time_index.count:
            self._create_missing(segment)
            return 0
        self.was_changed = True
        if self.producers_at != segment.base_offset:
            rebuild_producers(self.producers, self.segments, self._start_offset(), segment.base_offset)
        self.producers_at = None
        cut_bytes = recover_segment(
            segment, self.config, self.epochs, self.producers, self.segments.next_base_offset(at)
        )
        self.producers_at = segment.next_offset()
        if self.producers_at > segment.base_offset:
            self.producers.snapshots.retake(self.producers_at, self.producers.state.producers.values(), sync=False)
        return cut_bytes

    def _create_missing(self, segment: Segment) -> None:
        for suffix in (OFFSET_INDEX, TIME_INDEX):
            if not self.files.exists(segment.path(suffix)):
                self.files.create(segment.path(suffix))

    def _drop_after(self, at: int) -> None:
        later = self.segments.from_index(at + 1)
        if later:
            _logger.warning(
                "%s: deletes %s after the cut, from offset %d on",
                self.directory, plural(len(later), "segment"), later[0].base_offset,
            )  # fmt: skip
            self._delete(later)

    def _delete(self, segments: list[Segment]) -> None:
        self.was_changed = True
        self.segments.remove(segments)
        due_ms = self.opening.clock.monotonic_ms() + self.config.file_delete_delay_ms
        self.opening.deletions.rename_and_add_segments(segments, due_ms)

    # Ends

    def _start_offset(self) -> int:
        return max(self.opening.log_start_offset, self.segments[0].base_offset)

    def _find_end(self) -> int:
        if len(self.segments):
            end = self._limit_end(self._truncate_damaged_tail())
            if end >= self.opening.log_start_offset:
                return end
            _logger.warning(
                "%s ends at offset %d, below its start %d: all its segments are deleted",
                self.directory, end, self.opening.log_start_offset,
            )  # fmt: skip
            self._delete(list(self.segments))
            self.epochs.clear()
            self.producers.snapshots.remove_outside(1, 0)
        start = self.opening.log_start_offset
        now_ms = self.opening.clock.now_ms()
        self.segments.append(Segment.create(self.files, self.directory, start, self.config, now_ms))
        return start

    def _limit_end(self, end: int) -> int:
        """Limits the end to MAX_OFFSET, the highest that a response can carry. Kafka 3.9 deletes a longer log."""
        if end > MAX_OFFSET:
            _logger.warning(
                "%s: its last batch ends at offset %d: it stays in the file, but offsets from %d on are not served, "
                "and nothing can be appended", self.directory, end - 1, MAX_OFFSET,
            )  # fmt: skip
        return min(end, MAX_OFFSET)

    def _truncate_damaged_tail(self) -> int:
        """Returns the offset after the last whole batch; cuts the active segment there, even after a clean stop."""
        active = self.segments.active
        if not self.opening.clean or not active.size:
            return active.next_offset()
        position, end = active.offset_index.position_of(MAX_RELATIVE_OFFSET), active.base_offset
        try:
            for header in active.batches(position):
                position, end = header.end, header.last_offset + 1
        except CorruptRecord as fault:
            _logger.warning("%s", fault)
        if position == active.size:
            return end
        self._split_until_no_overflow(self._recover_active)
        return self.segments.active.next_offset()

    def _recover_active(self) -> None:
        self._recover_segment(len(self.segments) - 1)

    # Producers

    def _load_producers(self, start: int, end: int) -> None:
        snapshots = self.producers.snapshots
        snapshots.remove_outside(start, end)
        snapshots.remove_strays([segment.base_offset for segment in self.segments])
        if self.producers_at == end:
            return
        if self.opening.clean and snapshots.latest_offset is None:
            self.producers.take_snapshot(end, sync=False)  # like Kafka, it does not scan data from before snapshots
        else:
            try:
                rebuild_producers(self.producers, self.segments, start, end)
            except CorruptRecord as fault:
                _logger.warning("%s: producers are known up to a damaged batch only: %s", self.directory, fault)
        for _ in self.producers.state.expire(self.opening.clock.now_ms(), self.opening.producer_expiration_ms):
            pass

    # Result

    def _read_topic_id(self, entries: list[DirectoryEntry]) -> "UUID | None":
        if not any(entry.name == METADATA_FILE for entry in entries):
            return None
        try:
            return read_topic_id(self.files, self.directory)
        except DiskFault as fault:
            if errno_of(fault) in DISK_FAILURES | NO_DESCRIPTORS:
                raise  # without its id, the folder of an older topic would be taken for the new topic of that name
            _logger.warning("the topic id is not known: %s", fault)
            return None

    def _make_log(self, start: int, end: int, topic_id: "UUID | None") -> Log:
        opening = self.opening
        return Log(
            files=self.files,
            clock=opening.clock,
            directory=self.directory,
            topic=self.topic,
            partition=self.partition,
            topic_id=topic_id,
            config=self.config,
            segments=self.segments,
            log_start_offset=start,
            log_end_offset=end,
            recovery_point=end if opening.clean else min(opening.recovery_point, end),
            epochs=self.epochs,
            producers=self.producers,
            deletions=opening.deletions,
            is_clean=opening.clean and not self.was_changed and not self.config.preallocate,
            rolled=opening.rolled,
        )


def _end_offset_of(segment: Segment) -> int:
    """The offset after the segment's last batch; its base offset if that cannot be read."""
    try:
        return segment.next_offset()
    except CorruptRecord:
        return segment.base_offset
