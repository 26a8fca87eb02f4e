"""A task of `kafka-segments`, batch or stream: one split, read into Arrow batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ...protocol.records.columns import NO_MIN_TIMESTAMP, Wanted
from ..printing import say
from ..reading.arrow_columns import ArrowRows
from ..reading.partition_log import PartitionLog
from ..reading.rows import DataLoss, Leniency, SplitRows
from ..reading.splits import Split
from .options import ReadOptions


@dataclass
class SplitPartition(InputPartition):
    """A task: one split."""

    split: Split


def check_start(options: ReadOptions, log: PartitionLog, first: int) -> None:
    """Raises: DataLoss when `first` is below the log start, so that retention has deleted what was asked for."""
    if first < log.start_offset and options.fail_on_data_loss:
        raise DataLoss(
            f"{log.directory}: offset {first} was asked for, the log starts at {log.start_offset};"
            " failOnDataLoss=false goes on there"
        )


def read_split(split: Split, options: ReadOptions, schema: StructType) -> Iterator[Any]:
    """Yield Arrow batches of a split's rows; what was skipped is printed on stderr at the end.

    Raises: PipelineFailure, DataLoss.
    """
    names = schema.fieldNames()
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
    rows = ArrowRows(names, split.topic, split.partition, to_arrow_schema(schema, timezone="UTC"))
    for columns in SplitRows(options.files(), split, wanted, leniency):
        yield rows.batch(columns)
    for line in leniency.skipped:
        say(f"skipped: {line}")
