"""A task of `kafka-segments`, batch or stream: a split or several small ones, read into Arrow batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ...protocol.records.columns import NO_MIN_TIMESTAMP, WantedRows
from ..console_output import print_to_stderr
from ..failures import BadUsage
from ..reading.arrow_columns import DAMAGE, ArrowBatchMaker, damage_rows
from ..reading.damage import Damage, missing_offsets_damage, raise_or_keep_loss
from ..reading.partition_segments import PartitionSegments
from ..reading.split_damage import DamagePolicy
from ..reading.split_rows import SplitRows
from ..reading.splits import MAX_OFFSET, OffsetsToRead, Split, SplitPlanner
from ..values.decoded_columns import DecodedColumns
from ..values.schemas import ValueDecoding
from .options import MOST_ALONE, ReadOptions

OPEN_BYTES = 64 << 10
"""What a split counts for beside its size where it shares a task."""


@dataclass
class SplitPartition(InputPartition):
    """A task: its splits, read one after the other; `losses` are rows of damage that planning has found."""

    splits: tuple[Split, ...]
    losses: tuple[Damage, ...] = ()


NO_TASKS = [SplitPartition(())]
"""For a batch query that finds nothing to read: of no task at all Spark makes one that has no partition."""


def split_by_max_records(
    wanted: OffsetsToRead, log_end: Callable[[], int], options: ReadOptions
) -> Iterator[OffsetsToRead]:
    """The range of a log in parts of `maxRecordsPerPartition` offsets at most; `log_end` tells where the log ends."""
    most, first = options.max_records_per_partition, wanted.first
    end = wanted.end if most is None else min(wanted.end, log_end())
    while most is not None and first + most < end:
        yield replace(wanted, first=first, end=first + most)
        first += most
    yield replace(wanted, first=first)


def make_tasks(splits: Iterable[Split], most_bytes: int, *, most_alone: int = MOST_ALONE) -> list[SplitPartition]:
    """The splits as tasks, the largest first.

    `splits` are in the order of each log's offsets, and so are the rows of a task. If there are more than `most_alone`,
    neighbouring splits share a task, up to `most_bytes` together.
    """
    all_splits = list(splits)
    is_shared = len(all_splits) > most_alone
    shared: list[list[Split]] = []
    left = 0
    for split in all_splits:
        counted = split.size_bytes + OPEN_BYTES
        if counted > left or not is_shared:
            shared.append([])
            left = most_bytes
        shared[-1].append(split)
        left -= counted
    shared.sort(key=lambda each: -sum(split.size_bytes for split in each))
    return [SplitPartition(tuple(each)) for each in shared]


def report_planning(options: ReadOptions, planned: SplitPlanner, schema: StructType) -> list[SplitPartition]:
    """Tell what planning has found: lines, and a task for the rows of damage where a column asks for them.

    Raises: DataLoss for wanted offsets that no file has.
    """
    for warning in planned.warnings:
        print_to_stderr(warning)
    for loss in planned.losses:
        raise_or_keep_loss(
            loss, is_failure=options.fail_on_data_loss, keep=lambda damage: print_to_stderr(f"lost: {damage}")
        )
    return [SplitPartition((), tuple(planned.losses))] if planned.losses and DAMAGE in schema.fieldNames() else []


def find_lost_start(log: PartitionSegments, first: int) -> Iterator[Damage]:
    """Yield a loss when `first` is below the log start: retention has deleted what was asked for."""
    if first < log.start_offset:
        where = f"offset {first} was asked for, the log starts at {log.start_offset}"
        yield missing_offsets_damage(log.topic, log.partition, first, log.start_offset, where)


def find_missing_in_range(log: PartitionSegments, first: int, end: int, log_end: Callable[[], int]) -> Iterator[Damage]:
    """Yield what the log does not have of the offsets, `first` to `end` (open), that a batch query asks for; `log_end`
    tells where reading can end.

    Raises: BadUsage for a start after the end.
    """
    name = f"{log.topic}-{log.partition}"
    if first > end:
        raise BadUsage(f"{name}: reading would start at offset {first}, which is after its end, offset {end}")
    yield from find_lost_start(log, first)
    beyond = first if end == MAX_OFFSET else end
    if beyond <= log.start_offset:
        return
    last = log_end()
    if beyond > last:
        what = "the start" if end == MAX_OFFSET else "the end"
        where = f"{what}, offset {beyond}, was asked for, the log can be read up to {last} (open)"
        yield missing_offsets_damage(
            log.topic, log.partition, max(last, first) if end != MAX_OFFSET else last, beyond, where
        )


def make_damage_rows(damages: Sequence[Damage], schema: StructType) -> Iterator[Any]:
    """Yield the rows of damage where a column asks for them."""
    if damages and DAMAGE in schema.fieldNames():
        yield damage_rows(damages, to_arrow_schema(schema, timezone="UTC"))


def report_skipped_damage(leniency: DamagePolicy, schema: StructType) -> Iterator[Any]:
    """Print what was skipped, and yield its rows where a column asks for them."""
    for damage in leniency.skipped:
        print_to_stderr(f"skipped: {damage}")
    yield from make_damage_rows(leniency.skipped, schema)


def read_split(
    split: Split, options: ReadOptions, schema: StructType, values: ValueDecoding | None = None
) -> Iterator[Any]:
    """Yield Arrow batches of a split's rows; what was skipped or not decoded is printed on stderr at the end.

    Raises: PipelineFailure, DataLoss.
    """
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    decoded = None if values is None else DecodedColumns(values, arrow_schema)
    names = arrow_schema.names if decoded is None else decoded.columns_to_read
    wanted = WantedRows(
        first_offset=split.first_offset,
        end_offset=split.end_offset,
        min_timestamp=NO_MIN_TIMESTAMP if split.min_timestamp is None else split.min_timestamp,
        key="key" in names,
        value="value" in names,
        headers="headers" in names,
        checked=options.check_crc,
    )
    leniency = options.leniency()
    rows = ArrowBatchMaker(names, split.topic, split.partition, arrow_schema if decoded is None else None)
    for columns in SplitRows(options.files(), split, wanted, leniency):
        batch = rows.make_record_batch(columns)
        if decoded is None:
            yield batch
        else:
            yield from decoded.batches(batch)
    yield from report_skipped_damage(leniency, schema)
    for line in () if decoded is None else decoded.describe_errors():
        print_to_stderr(f"{split.path}: {line}")
