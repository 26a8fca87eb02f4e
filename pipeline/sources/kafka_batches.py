"""`kafka-batches`: one row a batch, from its header alone; nothing is decompressed.

    spark.read.format("kafka-batches").option("path", LOG_DIR).load()

`records` and `baseOffset` of a compressed v0 or v1 wrapper are null and its last offset: only opening it would tell.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ...protocol.errors import ApiError, CorruptRecord
from ...protocol.records.batch_header import BatchHeader
from ...storage.log.batch_scan import batch_headers
from ..console_output import say
from ..failures import BadUsage, PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.batch_header_columns import TYPES, header_batch
from ..reading.partition_segments import PartitionSegments
from ..reading.segment_location import open_segment
from ..reading.splits import Range, Split, SplitPlanner
from ..reading.transactions import AbortedBatches
from .options import BATCH_OPTIONS, ReadOptions, read_options
from .split_task import NO_TASKS, SplitPartition, tasks

NAME = "kafka-batches"
SCHEMA = (
    "topic string, partition int, segment bigint, position bigint, size int, magic int, codec string,"
    " baseOffset bigint, lastOffset bigint, records int, timestampType int, maxTimestamp timestamp,"
    " producerId bigint, transactional boolean, control boolean"
)
ROWS_A_BATCH = 8192


class KafkaBatches(DataSource):
    """The data source. Options: `BATCH_OPTIONS` of `options.py`, and those of an object store."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchesReader(read_options(self.options, BATCH_OPTIONS), schema)


class BatchesReader(DataSourceReader):
    """Walks over the headers of a log directory as it is when the query is planned."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        for column in to_arrow_schema(schema, timezone="UTC"):
            if TYPES.get(column.name) != column.type:
                raise BadUsage(f"no column {column.name} of this type: the columns are {SCHEMA}")

    def partitions(self) -> Sequence[SplitPartition]:
        files = self._options.files()
        planning = SplitPlanner(files, self._options.max_partition_bytes)
        found = [split for log in self._options.logs(files) for split in planning.splits(log, self._range(files, log))]
        for warning in planning.warnings:
            say(warning)
        return tasks(found, self._options.max_partition_bytes) or NO_TASKS

    def _range(self, files: PlaceFiles, log: PartitionSegments) -> Range:
        transactions = self._options.transactions(files, log)
        return Range(end=transactions.last_stable_offset, aborted=transactions.aborted)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SplitPartition)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        for split in partition.splits:
            headers = split_headers(self._options.files(), split, skip_corrupt=self._options.skip_corrupt)
            while rows := list(islice(headers, ROWS_A_BATCH)):
                yield header_batch(rows, split, schema)


def split_headers(files: PlaceFiles, split: Split, *, skip_corrupt: bool) -> Iterator[BatchHeader]:
    """Yield the headers of a split's batches, without those of aborted transactions and from its `end_offset` on.

    Raises: PipelineFailure where one is broken, or the split ends in a part of one where a log may not end.
    """
    file = open_segment(files, split.path, split.chunks, split.end)
    position = split.start
    aborted = AbortedBatches(split.aborted)
    try:
        for header in batch_headers(file, split.start, split.end):
            if header.magic > 2:
                raise CorruptRecord(f"the batch has magic {header.magic}")
            if header.base_offset < split.end_offset and not aborted.has(header):
                yield header
            position = header.end
        if position < split.end and not split.ends_log:
            raise CorruptRecord(f"a batch runs past byte {split.end}")
    except ApiError as error:
        line = f"{split.path}: position {position}: {error}"
        if not skip_corrupt:
            raise PipelineFailure(line) from error
        say(f"skipped: {line}")
    finally:
        file.close()
