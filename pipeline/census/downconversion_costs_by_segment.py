"""Down-conversion cost of every batch, summed by segment and topic; Spark converts each segment in its own task."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from ..session import parallelize
from .downconversion_costs import SegmentCostTask, segment_costs

_TYPES: dict[str, tuple[str, Any]] = {
    "topic": ("string", pa.string()),
    "partition": ("int", pa.int32()),
    "segment": ("bigint", pa.int64()),
    "position": ("bigint", pa.int64()),
    "base_offset": ("bigint", pa.int64()),
    "magic": ("int", pa.int32()),
    "codec": ("string", pa.string()),
    "stored_bytes": ("bigint", pa.int64()),
    "converted_bytes": ("bigint", pa.int64()),
    "promised_bytes": ("bigint", pa.int64()),
    "sent_bytes": ("bigint", pa.int64()),
    "padding_bytes": ("bigint", pa.int64()),
    "left_out": ("boolean", pa.bool_()),
    "chunk_bytes": ("bigint", pa.int64()),
    "compressed_bytes": ("bigint", pa.int64()),
    "opened_bytes": ("bigint", pa.int64()),
    "observed_ratio": ("double", pa.float64()),
    "estimated_ratio": ("double", pa.float64()),
    "underestimated": ("boolean", pa.bool_()),
    "split": ("boolean", pa.bool_()),
    "conversion_cpu_ns": ("bigint", pa.int64()),
}
"""Fields of `BatchCost` with their types in Spark and Arrow, which Spark compares only as the rows arrive."""
ROWS_A_BATCH = 8192


def make_batch_costs_frame(session: SparkSession, tasks: Sequence[SegmentCostTask]) -> DataFrame:
    """Return a frame of a row a batch, the fields of `BatchCost`; converting is done by whatever reads it."""
    packed = parallelize(session, [(pickle.dumps(task),) for task in tasks])
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in _TYPES.items())
    return session.createDataFrame(packed, "task binary").mapInArrow(_reckon_costs, schema)


def _reckon_costs(batches: Iterable[Any]) -> Iterator[Any]:
    """Record batches of tasks to record batches of costs."""
    fields = attrgetter(*_TYPES)
    kinds = [kind for _, kind in _TYPES.values()]
    for batch in batches:
        for packed in batch.column(0).to_pylist():
            costs = map(fields, segment_costs(pickle.loads(packed)))
            while rows := list(islice(costs, ROWS_A_BATCH)):
                columns = zip(*rows, strict=True)
                arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, list(_TYPES))


def sum_by_segment(costs: DataFrame) -> DataFrame:
    """Sums of the rows; `unreadable_bytes` are what the client cannot have: zstd, and what no conversion takes."""
    unreadable = F.when(F.col("converted_bytes").isNull(), F.col("stored_bytes")).otherwise(0)
    return costs.groupBy("topic", "partition", "segment").agg(
        F.count("*").alias("batches"),
        _sum_column("stored_bytes"),
        _sum_column("converted_bytes"),
        F.sum(unreadable).alias("unreadable_bytes"),
        F.count("promised_bytes").alias("fetches"),
        _sum_column("promised_bytes"),
        _sum_column("sent_bytes"),
        _sum_column("padding_bytes"),
        F.count_if("left_out").alias("left_out_batches"),
        F.coalesce(F.max("chunk_bytes"), F.lit(0)).alias("largest_chunk_bytes"),
        _sum_column("compressed_bytes"),
        _sum_column("opened_bytes"),
        F.max_by("estimated_ratio", "position").alias("estimated_ratio"),
        F.count_if("underestimated").alias("underestimated_batches"),
        F.count_if("split").alias("split_batches"),
        _sum_column("conversion_cpu_ns"),
    )


def _sum_column(name: str) -> Any:
    return F.coalesce(F.sum(name), F.lit(0)).alias(name)


def costs_by_topic(segments: Sequence[Row]) -> list[dict[str, object]]:
    """One row a topic, of those of `sum_by_segment`."""
    topics: dict[str, list[Row]] = {}
    for each in segments:
        topics.setdefault(each.topic, []).append(each)
    return [_costs_of_topic(topic, parts) for topic, parts in sorted(topics.items())]


def _costs_of_topic(topic: str, parts: Sequence[Row]) -> dict[str, object]:
    def total(name: str) -> int:
        return sum(part[name] for part in parts)

    readable = total("stored_bytes") - total("unreadable_bytes")
    return {
        "topic": topic,
        "stored_bytes": total("stored_bytes"),
        "converted_bytes": total("converted_bytes"),
        "growth": total("converted_bytes") / readable if readable else None,
        "fetches": total("fetches"),
        "promised_bytes": total("promised_bytes"),
        "padding_bytes": total("padding_bytes"),
        "left_out_batches": total("left_out_batches"),
        "largest_chunk_bytes": max(part.largest_chunk_bytes for part in parts),
        "compression_ratio": total("compressed_bytes") / total("opened_bytes") if total("opened_bytes") else None,
        "estimated_ratio": max(parts, key=lambda part: (part.segment, part.partition)).estimated_ratio,
        "underestimated_batches": total("underestimated_batches"),
        "split_batches": total("split_batches"),
        "conversion_cpu_s": total("conversion_cpu_ns") / 1e9,
    }
