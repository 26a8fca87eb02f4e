"""An archive of a running broker: a stream of Spark's Kafka connector into Parquet files or a Delta table.

| part | what it remembers | where |
|---|---|---|
| checkpoint | which offsets a batch has, before it is written; that it is done, after | OUT/_checkpoint |
| Parquet sink | which files belong to batches that were committed | OUT/_spark_metadata |
| Delta sink | the stream's id and its last batch (`txn` of the commit): a repeated one is left out | OUT/_delta_log |

A batch that was interrupted is written again from the same offsets. What an unfinished one left in a Parquet
directory stays there as files that `_spark_metadata` does not list: Spark leaves them out, other readers do not know.
`OUT/_archive.json` keeps a job for another source or format from using this checkpoint. OUT is written by Spark's own
file systems; what those need (`s3a`: hadoop-aws) comes with `spark-submit --packages`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..console_output import print_to_stderr
from ..failures import BadUsage
from ..kafka_connector import one_line_kafka_errors, read_options
from ..places.place_files import is_remote
from .log_archive import Format
from .partitioning import PartitionBy, partition_columns
from .state import FILE_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CHECKPOINT = "_checkpoint"
LOOK_EVERY_S = 1
_PARQUET_NOTE = (
    "Parquet is exact for readers that heed _spark_metadata, as Spark does; others may see files of batches that were "
    "cut off and written again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerArchive:
    """The source and the target. `topics` None: all but internal ones."""

    out: str
    format: Format
    bootstrap: str
    topics: str | None = None
    max_offsets: int | None = None
    isolation_level: str = "read_uncommitted"
    partition_by: PartitionBy = "date"

    @property
    def identity(self) -> dict[str, str | None]:
        """The settings that have to be the same in every run."""
        found = {"bootstrap": self.bootstrap, "topics": self.topics, "format": self.format}
        # Archives of earlier versions are by date and do not say so.
        layout = {} if self.partition_by == "date" else {"partition_by": self.partition_by}
        return {**found, "isolation_level": self.isolation_level, **layout}


def archive_records(spark: "SparkSession", archive: BrokerArchive, every_s: float | None = None) -> dict[str, object]:
    """Archive what is there, or with `every_s` all records that come until an interrupt; return how many there were.

    Raises: PipelineFailure.
    """
    if archive.format == "parquet":
        print_to_stderr(_PARQUET_NOTE)
    rows = stream_records(spark, archive)
    writer = (
        rows.writeStream.format(archive.format)
        .partitionBy(partition_columns(archive.partition_by))
        .outputMode("append")
    )
    writer = writer.option("checkpointLocation", f"{archive.out}/{CHECKPOINT}")
    if every_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{every_s} seconds")
    query = writer.start(archive.out)
    with one_line_kafka_errors():
        done = _await_query(query, is_endless=every_s is not None)
    return {"out": archive.out, "format": archive.format, "batches": len(done), "rows": sum(done.values())}


def stream_records(spark: "SparkSession", archive: BrokerArchive) -> "DataFrame":
    """The stream of all records, with the day or the first day of the month (UTC) of their timestamps.

    Magic 0 has none, which is -1: 1969-12-31.
    """
    options = read_options(archive.bootstrap, archive.topics, isolation_level=archive.isolation_level)
    if archive.max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(archive.max_offsets)
    rows = spark.readStream.format("kafka").options(**options).load()
    periods = {"date": ["CAST(timestamp AS date) AS date"], "month": ["trunc(timestamp, 'MM') AS month"], "topic": []}
    return rows.selectExpr("*", *periods[archive.partition_by])


def note_or_check_identity(archive: BrokerArchive) -> None:
    """Note what this directory archives, or compare it with what was noted.

    Raises: BadUsage when it is the archive of something else.
    """
    if is_remote(archive.out):  # a store of objects, which only Spark can write
        return
    file = Path(archive.out) / FILE_NAME
    text = json.dumps(archive.identity)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    elif json.loads(file.read_text()) != json.loads(text):
        raise BadUsage(
            f"{archive.out} is the archive of something else: {file} says {file.read_text().strip()}; if that has only "
            "moved, change what the file says"
        )


def _await_query(query: "StreamingQuery", *, is_endless: bool) -> Mapping[int, int]:
    """Wait for the query's end, of an endless one for an interrupt, telling of each batch; return the rows by batch."""
    done: dict[int, int] = {}
    try:
        while True:
            ended = query.awaitTermination(LOOK_EVERY_S)
            for step in query.recentProgress:
                if step["numInputRows"] and step["batchId"] not in done:
                    done[step["batchId"]] = step["numInputRows"]
                    print_to_stderr(f"batch {step['batchId']}: {step['numInputRows']:,} rows")
            if ended:
                return done
    except KeyboardInterrupt:
        if not is_endless:
            raise
        return done
    finally:
        query.stop()
