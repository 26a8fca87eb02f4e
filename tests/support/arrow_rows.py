"""Rows for the sink `kafka-segments` and a write job as Spark runs it, without a Spark."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict
from stepdown.pipeline.sources.segments_writer import SegmentsWriter, StagedLogs, write_options

_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_KINDS = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "headers": _HEADERS,
}


def rows(*values: Sequence[object], names: str = "topic partition offset key") -> pa.RecordBatch:
    """A record batch with the columns `names`; timestamps are in microseconds."""
    columns = names.split()
    arrays = [pa.array([row[at] for row in values], _KINDS.get(name, pa.binary())) for at, name in enumerate(columns)]
    return pa.RecordBatch.from_arrays(arrays, names=columns)


def writer(log_dir: Path, **options: str) -> SegmentsWriter:
    """A write job with these options."""
    return SegmentsWriter(write_options(CaseInsensitiveDict({"path": str(log_dir), **options})), overwrite=False)


def write(job: SegmentsWriter, *tasks: Sequence[pa.RecordBatch]) -> list[StagedLogs]:
    """Write and commit the record batches of each task."""
    messages = [job.write(iter(batches)) for batches in tasks]
    job.commit(messages)
    return messages
