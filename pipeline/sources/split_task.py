"""A task of `kafka-segments`, batch or stream: a split or several small ones, read into Arrow batches."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ...protocol.records.columns import NO_MIN_TIMESTAMP, Wanted
from ..console_output import say
from ..failures import BadUsage, DataLoss
from ..reading.arrow_columns import ArrowRows
from ..reading.damage import report_loss
from ..reading.partition_segments import PartitionSegments
from ..reading.split_damage import Leniency
from ..reading.split_rows import SplitRows
from ..reading.splits import MAX_OFFSET, Split, SplitPlanner
from ..values.decoded_columns import DecodedColumns
from ..values.schemas import ValueSchemas
from .options import ReadOptions

MOST_ALONE = 1000
"""Up to this number each split is a task; of more, small ones share one: a task costs more than a small segment."""
OPEN_BYTES = 64 << 10
"""What a split counts for beside its size where it shares a task."""


@dataclass
class SplitPartition(InputPartition):
    """A task: its splits, read one after the other."""

    splits: tuple[Split, ...]


NO_TASKS = [SplitPartition(())]
"""For a batch query that finds nothing to read: of no task at all Spark makes one that has no partition."""


def tasks(splits: Iterable[Split], most_bytes: int) -> list[SplitPartition]:
    """The splits as tasks, in order. Splits that share a task have `most_bytes` together at most."""
    all_splits = list(splits)
    if len(all_splits) <= MOST_ALONE:
        return [SplitPartition((split,)) for split in all_splits]
    shared: list[list[Split]] = []
    left = 0
    for split in all_splits:
        counted = split.size_bytes + OPEN_BYTES
        if counted > left:
            shared.append([])
            left = most_bytes
        shared[-1].append(split)
        left -= counted
    return [SplitPartition(tuple(each)) for each in shared]


def report_planning(options: ReadOptions, planned: SplitPlanner) -> None:
    """Tell what planning has found. Raises: DataLoss for wanted offsets that no file has."""
    for warning in planned.warnings:
        say(warning)
    for loss in planned.losses:
        report_loss(loss, is_failure=options.fail_on_data_loss, keep=lambda damage: say(f"lost: {damage}"))


def check_start(options: ReadOptions, log: PartitionSegments, first: int) -> None:
    """Raises: DataLoss when `first` is below the log start, so that retention has deleted what was asked for."""
    if first >= log.start_offset:
        return
    lost = f"{log.directory}: offset {first} was asked for, the log starts at {log.start_offset}"
    if options.fail_on_data_loss:
        raise DataLoss(f"{lost}; failOnDataLoss=false goes on there")
    say(f"lost: {lost}")


def check_range(options: ReadOptions, log: PartitionSegments, first: int, end: int, log_end: Callable[[], int]) -> None:
    """Check the offsets, `first` to `end` (open), that a batch query asks for; `log_end` tells where reading can end.

    Raises: BadUsage for a start after the end, DataLoss for what the log does not have.
    """
    where = f"{log.topic}-{log.partition}"
    if first > end:
        raise BadUsage(f"{where}: reading would start at offset {first}, which is after its end, offset {end}")
    check_start(options, log, first)
    beyond = first if end == MAX_OFFSET else end
    if beyond <= log.start_offset or not options.fail_on_data_loss:
        return
    last = log_end()
    if beyond > last:
        raise DataLoss(
            f"{where}: {'the start' if end == MAX_OFFSET else 'the end'}, offset {beyond}, was asked for,"
            f" the log can be read up to {last} (open); failOnDataLoss=false reads what is there"
        )


def read_split(
    split: Split, options: ReadOptions, schema: StructType, values: ValueSchemas | None = None
) -> Iterator[Any]:
    """Yield Arrow batches of a split's rows; what was skipped or not decoded is printed on stderr at the end.

    Raises: PipelineFailure, DataLoss.
    """
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    decoded = None if values is None else DecodedColumns(values, arrow_schema)
    names = arrow_schema.names if decoded is None else decoded.stored_names
    wanted = Wanted(
        first_offset=split.first_offset,
        end_offset=split.end_offset,
        min_timestamp=NO_MIN_TIMESTAMP if split.min_timestamp is None else split.min_timestamp,
        key="key" in names,
        value="value" in names,
        headers="headers" in names,
        checked=options.check_crc,
    )
    leniency = Leniency(skip_corrupt=options.skip_corrupt, fail_on_data_loss=options.fail_on_data_loss)
    rows = ArrowRows(names, split.topic, split.partition, arrow_schema if decoded is None else None)
    for columns in SplitRows(options.files(), split, wanted, leniency):
        batch = rows.batch(columns)
        if decoded is None:
            yield batch
        else:
            yield from decoded.batches(batch)
    for damage in leniency.skipped:
        say(f"skipped: {damage}")
    for line in () if decoded is None else decoded.report():
        say(f"{split.path}: {line}")
