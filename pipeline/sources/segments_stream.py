"""`kafka-segments` as a stream: offsets `{"topic": {"0": 123}}`, the next to read of each partition.

A partition that comes later starts at its earliest offset. `maxOffsetsPerTrigger` is shared out among partitions by how
far each is behind, as Spark's Kafka source does. A log directory is never changed. A log ends after its last
whole batch at that moment; with read_committed, before the first open transaction. With failOnDataLoss=false, as in
Spark's source, a partition that has disappeared is dropped. If a log now ends before the offset already read, reading
continues at its new end.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ..console_output import print_to_stderr, print_to_stderr_once
from ..failures import BadUsage, DataLoss
from ..places.place_files import PlaceFiles
from ..reading.damage import missing_offsets_damage, raise_or_keep_loss
from ..reading.log_losses import find_lost_log_or_tail
from ..reading.partition_segments import PartitionSegments
from ..reading.splits import MAX_OFFSET, OffsetsToRead, Split, SplitPlanner
from ..values.schemas import ValueDecoding
from .offset_bounds import LATEST, OffsetBound, first_offset
from .options import ReadOptions
from .split_task import (
    SplitPartition,
    find_lost_start,
    make_damage_rows,
    make_tasks,
    read_split,
    report_planning,
    split_by_max_records,
)

Offsets = dict[str, dict[str, int]]


class SegmentsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what has come since the last micro-batch."""

    def __init__(
        self,
        options: ReadOptions,
        schema: StructType,
        values: ValueDecoding | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        if options.ending != OffsetBound(end="ending", offsets=LATEST):
            raise BadUsage("a stream has no end: endingOffsets and its like are for batch queries")
        self._options = options
        self._schema = schema
        self._values = values
        self._target: Offsets | None = None
        self._now_s = now_s
        self._triggered_s = float("-inf")

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins. Raises: BadUsage, DataLoss."""
        files = self._options.files()
        found: Offsets = {}
        for log in self._options.logs(files):
            end = partial(self._options.end_of_reading, files, log)
            offset = first_offset(self._options.starting, files, log, end)
            for loss in find_lost_start(log, offset):
                raise_or_keep_loss(
                    loss, is_failure=self._options.fail_on_data_loss, keep=lambda each: print_to_stderr(f"lost: {each}")
                )
            found.setdefault(log.topic, {})[str(log.partition)] = max(offset, log.start_offset)
        return found

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember the ends of all logs, so that the query ends there."""
        self._target = self._find_log_ends()

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next micro-batch ends. Raises: BadUsage, DataLoss for a partition or offsets that are gone."""
        ends = self._find_log_ends() if self._target is None else self._target
        missing = sorted(set(self._options.topics or ()) - ends.keys() - start.keys())
        if missing:
            raise BadUsage(f"{self._options.place}: no such topic: {', '.join(missing)}")
        begin = self._find_first_offsets(start, ends)
        if self._waits_for_more(begin, ends):
            return start
        return limit_ends(begin, ends, limit.max_rows) if isinstance(limit, ReadMaxRows) else ends

    def _waits_for_more(self, begin: Offsets, ends: Offsets) -> bool:
        """Returns whether less than `minOffsetsPerTrigger` is there, and the last micro-batch was not too long ago;
        else notes that one begins now."""
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        new = sum(ends[topic][partition] - offset for topic, partition, offset in _flatten_offsets(begin))
        now = self._now_s()
        if new < least and now - self._triggered_s < self._options.max_trigger_delay_s:
            return True
        self._triggered_s = now
        return False

    def reportLatestOffset(self) -> dict[str, Any]:
        """The ends of all logs, for the query's progress."""
        return self._find_log_ends()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Tasks of splits, the largest first. Raises: DataLoss, also where a batch that is made again is not whole."""
        files = self._options.files()
        there = self._logs(files)
        planning = SplitPlanner(files, self._options.task_bytes(there))
        logs = {(log.topic, str(log.partition)): log for log in there}
        found: list[Split] = []
        for topic, partition, stop in _flatten_offsets(end):
            log = logs.get((topic, partition))
            first = start.get(topic, {}).get(partition, 0 if log is None else log.start_offset)
            if first >= stop:
                continue
            log_end = None if log is None else self._options.end_of_reading(files, log)
            lost = self._describe_lost_records(topic, partition, stop, log_end)
            if lost is not None:
                first_lost = first if log_end is None else max(first, log_end)
                planning.losses.append(missing_offsets_damage(topic, int(partition), first_lost, stop, lost))
            if log is not None:
                planning.losses += find_lost_start(log, first)
                if log_end is not None and stop == log_end:
                    planning.losses += find_lost_log_or_tail(files, log)
                aborted = self._options.transactions(files, log).aborted
                ranges = split_by_max_records(
                    OffsetsToRead(first=first, end=stop, aborted=aborted), lambda: MAX_OFFSET, self._options
                )
                found += chain.from_iterable(planning.plan_splits(log, each) for each in ranges)
        lost_rows = report_planning(self._options, planning, self._schema)
        return [*make_tasks(found, planning.max_bytes, most_alone=self._options.most_splits_alone), *lost_rows]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SplitPartition)
        for split in partition.splits:
            yield from read_split(split, self._options, self._schema, self._values)
        yield from make_damage_rows(partition.losses, self._schema)

    def _logs(self, files: PlaceFiles) -> list[PartitionSegments]:
        """The logs that are there; what is missing of those that were is for others to judge.

        A folder without segments, of which nothing says that it had some, is one that a broker is just making.
        """
        found = self._options.logs(files, all_there=False)
        return [log for log in found if log.segments or log.known_end]

    def _find_log_ends(self) -> Offsets:
        files = self._options.files()
        found: Offsets = {}
        for log in self._logs(files):
            for loss in find_lost_log_or_tail(files, log):
                raise_or_keep_loss(
                    loss,
                    is_failure=self._options.fail_on_data_loss,
                    keep=lambda each: print_to_stderr_once(f"lost: {each}"),
                )
            found.setdefault(log.topic, {})[str(log.partition)] = max(
                self._options.end_of_reading(files, log), log.start_offset
            )
        return found

    def _find_first_offsets(self, start: Offsets, ends: Offsets) -> Offsets:
        """Where each log of `ends` goes on: as `start` says; at its earliest offset if new, at its end if it shrank.

        Raises: DataLoss.
        """
        for topic, partition, offset in _flatten_offsets(start):
            lost = self._describe_lost_records(topic, partition, offset, ends.get(topic, {}).get(partition))
            if lost is not None:
                print_to_stderr(f"lost: {lost}")
        earliest: Offsets = {}
        if any(partition not in start.get(topic, {}) for topic, partition, _ in _flatten_offsets(ends)):
            for log in self._logs(self._options.files()):
                earliest.setdefault(log.topic, {})[str(log.partition)] = log.start_offset
        begin: Offsets = {}
        for topic, partition, end in _flatten_offsets(ends):
            first = start.get(topic, {}).get(partition, earliest.get(topic, {}).get(partition, 0))
            begin.setdefault(topic, {})[partition] = min(first, end)
        return begin

    def _describe_lost_records(self, topic: str, partition: str, offset: int, end: int | None) -> str | None:
        """A sentence if the log no longer reaches `offset`, None if it does. Raises: DataLoss with failOnDataLoss."""
        if end is not None and end >= offset:
            return None
        found = "is gone" if end is None else f"ends at {end}"
        lost = f"{self._options.place}/{topic}-{partition}: offset {offset} was there before, the log {found}"
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{lost}; failOnDataLoss=false goes on")
        return lost


def _flatten_offsets(offsets: Offsets) -> Iterator[tuple[str, str, int]]:
    for topic, partitions in offsets.items():
        for partition, offset in partitions.items():
            yield topic, partition, offset


def limit_ends(begin: Offsets, ends: Offsets, rows: int) -> Offsets:
    """At most `rows` offsets from `begin` on, shared out by how far each partition is behind; one at least in all."""
    behind = {
        (topic, partition): ends[topic][partition] - offset for topic, partition, offset in _flatten_offsets(begin)
    }
    total = sum(behind.values())
    left = min(rows, total)
    found = {topic: dict(partitions) for topic, partitions in begin.items()}
    for topic, partition in sorted(behind, key=lambda each: -behind[each]):
        share = min(left, behind[topic, partition], -(-behind[topic, partition] * rows // total) if total else 0)
        found[topic][partition] += share
        left -= share
    return found
