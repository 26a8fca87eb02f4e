"""`kafka-segments`: the records in a log directory as rows, read straight from its segment files.

    spark.read.format("kafka-segments").option("path", LOG_DIR).load()

`segments_stream.py` reads a directory as a stream, `segments_writer.py` writes one.

Columns are those of Spark's Kafka source, with `valueFormat` also `value_decoded` and `value_error`; a smaller schema
with any of them is the projection. With the default, read_uncommitted, aborted records are rows, as with that source;
control records never are.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    Filter,
    InputPartition,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ..failures import BadUsage
from ..places.place_files import PlaceFiles
from ..reading.arrow_columns import DAMAGE
from ..reading.damage import Damage
from ..reading.log_losses import find_lost_log_or_tail
from ..reading.partition_segments import PartitionSegments
from ..reading.splits import MAX_OFFSET, OffsetsToRead, SplitPlanner
from ..values.decoded_columns import ADDED
from ..values.schemas import ValueDecoding
from .filters import PushedFilters, take_over_filters
from .offset_bounds import end_offset, first_offset
from .options import ReadOptions, read_options
from .segments_stream import SegmentsStreamReader
from .split_task import (
    NO_TASKS,
    SplitPartition,
    find_missing_in_range,
    make_damage_rows,
    make_tasks,
    read_split,
    report_planning,
    split_by_max_records,
)

NAME = "kafka-segments"

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
COLUMNS: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
RAW: dict[str, DataType] = {"timestampMs": LongType()}
"""With `includeTimestampMs`, or where a schema names it."""
DAMAGE_FIELDS = StructType(
    [
        StructField("kind", StringType()),
        StructField("file", StringType()),
        StructField("position", LongType()),
        StructField("bytes", LongType()),
        StructField("firstOffset", LongType()),
        StructField("endOffset", LongType()),
        StructField("reason", StringType()),
    ]
)
DAMAGED: dict[str, DataType] = {DAMAGE: DAMAGE_FIELDS}
"""With `includeDamage`, or where a schema names it."""
DECODED: dict[str, DataType] = {name: StringType() for name in ADDED}
"""With `valueFormat`."""


class KafkaSegments(DataSource):
    """The data source. Options: `options.py`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        options = read_options(self.options)
        names = COLUMNS | ({"headers": HEADERS} if options.include_headers else {})
        names |= RAW if options.include_timestamp_ms else {}
        names |= DAMAGED if options.include_damage else {}
        names |= DECODED if options.values else {}
        return StructType([StructField(name, kind) for name, kind in names.items()])

    def reader(self, schema: StructType) -> DataSourceReader:
        options = read_options(self.options)
        check_columns(schema, options)
        reader = FilterPushingReader if options.pushdown else SegmentsReader
        return reader(options, schema, value_decoding(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        # Imported here, since tasks that read have no use for it.
        from .segments_writer import SegmentsWriter, check_written_columns, write_options

        check_written_columns(schema, COLUMNS | {"headers": HEADERS})
        return SegmentsWriter(write_options(self.options), overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        options = read_options(self.options)
        check_columns(schema, options)
        return SegmentsStreamReader(options, schema, value_decoding(options, schema))


def value_decoding(options: ReadOptions, schema: StructType) -> ValueDecoding | None:
    """What decodes the values, None where no column asks for it. Raises: BadUsage, PipelineFailure, DiskFault."""
    if options.values is None or not set(ADDED) & set(schema.fieldNames()):
        return None
    return options.values.read_schemas(options.files(), options.topics)


def check_columns(schema: StructType, options: ReadOptions) -> None:
    """Raises: BadUsage for a column that is not one of the source's, listing those."""
    known = COLUMNS | {"headers": HEADERS} | RAW | DAMAGED | (DECODED if options.values else {})
    for column in schema.fields:
        if column.name not in known:
            raise BadUsage(f"no column {column.name}: the columns are {', '.join(known)}")
        wanted = known[column.name]
        if column.dataType.simpleString() != wanted.simpleString():
            raise BadUsage(f"the column {column.name} is {wanted.simpleString()}, not {column.dataType.simpleString()}")


class SegmentsReader(DataSourceReader):
    """Reads a log directory as it is when the query is planned."""

    def __init__(self, options: ReadOptions, schema: StructType, values: ValueDecoding | None = None) -> None:
        self._options = options
        self._schema = schema
        self._values = values
        self._pushed = PushedFilters()

    def partitions(self) -> Sequence[SplitPartition]:
        """Tasks of splits, the largest first."""
        options = self._options
        files = options.files()
        logs = [log for log in options.logs(files) if self._pushed.wants(log.topic, log.partition)]
        planning = SplitPlanner(files, options.task_bytes(logs), self._pushed.min_timestamp)
        found = [
            split
            for log in logs
            for wanted in self._ranges(files, log, planning.losses)
            for split in planning.plan_splits(log, wanted)
        ]
        lost = report_planning(options, planning, self._schema)
        return [*make_tasks(found, planning.max_bytes, most_alone=options.most_splits_alone), *lost] or NO_TASKS

    def _ranges(self, files: PlaceFiles, log: PartitionSegments, losses: list[Damage]) -> Iterator[OffsetsToRead]:
        transactions = self._options.transactions(files, log)
        log_end = partial(self._options.end_of_reading, files, log)
        first = first_offset(self._options.starting, files, log, log_end)
        end = end_offset(self._options.ending, files, log)
        losses += find_missing_in_range(log, first, end, log_end)
        if self._options.read_committed and end == MAX_OFFSET:
            losses += find_lost_log_or_tail(files, log)
        end = min(end, transactions.last_stable_offset)
        first = max(first, self._pushed.first, log.start_offset)
        wanted = OffsetsToRead(first=first, end=min(end, self._pushed.end), aborted=transactions.aborted)
        yield from split_by_max_records(wanted, log_end, self._options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SplitPartition)
        for split in partition.splits:
            yield from read_split(split, self._options, self._schema, self._values)
        yield from make_damage_rows(partition.losses, self._schema)


class FilterPushingReader(SegmentsReader):
    """A reader that takes filters over, for a DataFrame of one query in a session where Spark offers them."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._pushed, left = take_over_filters(filters, self._pushed)
        return left
