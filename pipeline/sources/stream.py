"""`kafka-segments` as a stream: offsets `{"topic": {"0": 123}}`, the next to read of each partition.

A partition that comes later starts at its earliest offset. `maxOffsetsPerTrigger` is shared out among partitions by how
far each is behind, as Spark's Kafka source does. A log directory is only looked at, so its end is that of its whole
batches at the time.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ...storage.files import Files
from ..printing import say
from ..reading.log_end import log_end_offset
from ..reading.log_files import PartitionLog, partition_logs
from ..reading.rows import DataLoss
from ..reading.splits import Planning, Range, Split
from .options import ReadOptions, starting_offset
from .partition import SplitPartition, check_start, read_split

Offsets = dict[str, dict[str, int]]


class SegmentsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what has come since the last micro-batch."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._target: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins. Raises: BadUsage, DataLoss."""
        files = Files(read_only=True)
        found: Offsets = {}
        for log in self._logs(files):
            offset = _first(self._options, files, log)
            check_start(self._options, log, offset)
            found.setdefault(log.topic, {})[str(log.partition)] = max(offset, log.start_offset)
        return found

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember the ends of all logs, so that the query ends there."""
        self._target = self._ends()

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next micro-batch ends. Raises: DataLoss for a partition or offsets that are gone."""
        ends = self._ends() if self._target is None else self._target
        begin = self._begin(start, ends)
        for topic, partitions in begin.items():
            for partition, offset in partitions.items():
                self._check_end(topic, partition, offset, ends)
        if isinstance(limit, ReadMaxRows):
            return _limited(begin, ends, limit.max_rows)
        return {topic: dict(partitions) for topic, partitions in _joined(begin, ends).items()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One split a task, the largest first. Raises: DataLoss."""
        files = Files(read_only=True)
        planning = Planning(files, self._options.max_partition_bytes)
        found: list[Split] = []
        for log in self._logs(files):
            first = start.get(log.topic, {}).get(str(log.partition), log.start_offset)
            stop = end.get(log.topic, {}).get(str(log.partition), first)
            if first >= stop:
                continue
            check_start(self._options, log, first)
            found += planning.splits(log, Range(first=first, end=stop))
        for warning in planning.warnings:
            say(warning)
        return [SplitPartition(split) for split in sorted(found, key=lambda split: -split.size_bytes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SplitPartition)
        return read_split(partition.split, self._options, self._schema)

    def _logs(self, files: Files) -> list[PartitionLog]:
        return partition_logs(files, self._options.path, self._options.topics)

    def _ends(self) -> Offsets:
        files = Files(read_only=True)
        found: Offsets = {}
        for log in self._logs(files):
            found.setdefault(log.topic, {})[str(log.partition)] = max(log_end_offset(files, log), log.start_offset)
        return found

    def _begin(self, start: Offsets, ends: Offsets) -> Offsets:
        """`start`, with the earliest offset of every partition that it does not know."""
        new = any(
            partition not in start.get(topic, {}) for topic, partitions in ends.items() for partition in partitions
        )
        if not new:
            return start
        earliest: Offsets = {}
        for log in self._logs(Files(read_only=True)):
            if str(log.partition) in ends.get(log.topic, {}):
                earliest.setdefault(log.topic, {})[str(log.partition)] = log.start_offset
        return _joined(earliest, start)

    def _check_end(self, topic: str, partition: str, offset: int, ends: Offsets) -> None:
        end = ends.get(topic, {}).get(partition)
        if self._options.fail_on_data_loss and (end is None or end < offset):
            found = "is gone" if end is None else f"ends at {end}"
            raise DataLoss(
                f"{self._options.path}/{topic}-{partition}: offset {offset} was read before, the log {found};"
                " failOnDataLoss=false goes on"
            )


def _first(options: ReadOptions, files: Files, log: PartitionLog) -> int:
    return starting_offset(options, log, lambda: log_end_offset(files, log))


def _joined(before: Offsets, after: Offsets) -> Offsets:
    """The offsets of both, `after` where both have one, but never back behind `before`."""
    found = {topic: dict(partitions) for topic, partitions in before.items()}
    for topic, partitions in after.items():
        known = found.setdefault(topic, {})
        for partition, offset in partitions.items():
            known[partition] = max(offset, known.get(partition, offset))
    return found


def _limited(begin: Offsets, ends: Offsets, rows: int) -> Offsets:
    """At most `rows` offsets from `begin` on, shared out by how far each partition is behind; one at least in all."""
    behind = {
        (topic, partition): max(0, ends.get(topic, {}).get(partition, offset) - offset)
        for topic, partitions in begin.items()
        for partition, offset in partitions.items()
    }
    total = sum(behind.values())
    left = min(rows, total)
    found = {topic: dict(partitions) for topic, partitions in begin.items()}
    for topic, partition in sorted(behind, key=lambda each: -behind[each]):
        share = min(left, behind[topic, partition], -(-behind[topic, partition] * rows // total) if total else 0)
        found[topic][partition] += share
        left -= share
    return found
