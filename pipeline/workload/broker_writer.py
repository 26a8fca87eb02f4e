"""A workload through a running broker: Spark makes the chunks and its Kafka connector writes them.

The partition of each record is given, so the topic has to have at least as many partitions as the workload. Timestamps
are those of the sending: the connector takes none.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from ..kafka_connector import one_line_kafka_errors, write_options
from .records import LoadRecord, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = "partition int, key binary, value binary"
_ARROW = pa.schema(
    [
        pa.field("partition", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
    ]
)


def workload_frame(spark: "SparkSession", workload: Workload) -> "DataFrame":
    """The records of a workload as rows for the connector; chunks are made where they are written."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _make_arrow_batch(workload.make_chunk(number))

    tasks = min(len(workload.chunk_numbers), spark.sparkContext.defaultParallelism) or 1
    numbers = spark.range(0, len(workload.chunk_numbers), numPartitions=tasks)
    return numbers.mapInArrow(make, _COLUMNS).selectExpr(f"'{workload.topic}' AS topic", "*")


def write_to_broker(spark: "SparkSession", workload: Workload, bootstrap: str, *, idempotent: bool = True) -> None:
    """Write the records. Raises: PipelineFailure when the broker refuses them."""
    options = write_options(bootstrap, codec=workload.codec.name.lower(), idempotent=idempotent)
    options["kafka.batch.size"] = str(workload.batch_bytes)
    with one_line_kafka_errors():
        workload_frame(spark, workload).write.format("kafka").options(**options).save()


def _make_arrow_batch(records: Iterator[LoadRecord]) -> pa.RecordBatch:
    rows = list(records)
    columns = [row.partition for row in rows], [row.key for row in rows], [row.value for row in rows]
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
