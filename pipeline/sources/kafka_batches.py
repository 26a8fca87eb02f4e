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

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.layout import FRAME, LOG_OVERHEAD
from ...storage.files.file_handle import ReadableFile
from ...storage.log.batch_scan import batch_headers
from ..failures import BadUsage
from ..places.place_files import PlaceFiles
from ..reading.batch_header_columns import TYPES, make_header_record_batch
from ..reading.log_losses import find_lost_log_or_tail
from ..reading.partition_segments import PartitionSegments
from ..reading.segment_location import open_segment
from ..reading.split_damage import DamagePolicy, SplitDamageCheck
from ..reading.splits import OffsetsToRead, Split, SplitPlanner
from ..reading.transactions import AbortedBatches
from .options import BATCH_OPTIONS, ReadOptions, read_options
from .split_task import NO_TASKS, SplitPartition, make_damage_rows, make_tasks, report_planning, report_skipped_damage

NAME = "kafka-batches"
SCHEMA = (
    "topic string, partition int, segment bigint, position bigint, size int, magic int, codec string,"
    " baseOffset bigint, lastOffset bigint, records int, timestampType int, maxTimestamp timestamp,"
    " producerId bigint, transactional boolean, control boolean"
)
DAMAGE_TYPE = (
    "struct<kind: string, file: string, position: bigint, bytes: bigint, firstOffset: bigint, endOffset: bigint,"
    " reason: string>"
)
ROWS_A_BATCH = 8192


class KafkaBatches(DataSource):
    """The data source. Options: `BATCH_OPTIONS` of `options.py`, and those of an object store."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        options = read_options(self.options, BATCH_OPTIONS)
        return f"{SCHEMA}, damage {DAMAGE_TYPE}" if options.include_damage else SCHEMA

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
        logs = self._options.logs(files)
        planning = SplitPlanner(files, self._options.task_bytes(logs))
        found = [split for log in logs for split in planning.plan_splits(log, self._offsets_to_read(files, log))]
        if self._options.read_committed:
            planning.losses += [loss for log in logs for loss in find_lost_log_or_tail(files, log)]
        lost = report_planning(self._options, planning, self._schema)
        return [
            *make_tasks(found, planning.max_bytes, most_alone=self._options.most_splits_alone),
            *lost,
        ] or NO_TASKS

    def _offsets_to_read(self, files: PlaceFiles, log: PartitionSegments) -> OffsetsToRead:
        transactions = self._options.transactions(files, log)
        return OffsetsToRead(end=transactions.last_stable_offset, aborted=transactions.aborted)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SplitPartition)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        for split in partition.splits:
            leniency = self._options.leniency()
            headers = split_headers(self._options.files(), split, leniency)
            while rows := list(islice(headers, ROWS_A_BATCH)):
                yield make_header_record_batch(rows, split, schema)
            yield from report_skipped_damage(leniency, self._schema)
        yield from make_damage_rows(partition.losses, self._schema)


def split_headers(files: PlaceFiles, split: Split, leniency: DamagePolicy) -> Iterator[BatchHeader]:
    """Yield the headers of a split's batches, without those of aborted transactions and from its `end_offset` on.

    Raises: PipelineFailure where one is broken, or the split ends in a part of one where a log may not end; DataLoss.
    """
    file = open_segment(files, split, split.end)
    aborted = AbortedBatches(split.aborted)
    damage = SplitDamageCheck(split, file, leniency)
    position = split.start
    try:
        while position < split.end:
            reason = f"a batch runs past byte {split.end}"
            try:
                for header in batch_headers(file, position, split.end):
                    if header.magic > 2:
                        raise CorruptRecord(f"the batch has magic {header.magic}")
                    damage.check_header(header)
                    if header.base_offset < split.end_offset and not aborted.is_aborted(header):
                        yield header
                    position = header.end
            except CorruptRecord as error:
                reason = str(error)
            if position < split.end:
                position = _skip_damage(file, split, position, damage, reason)
        damage.end_split()
    finally:
        file.close()


def _skip_damage(file: ReadableFile, split: Split, position: int, damage: SplitDamageCheck, reason: str) -> int:
    """Where to go on after what is no batch. Raises: PipelineFailure unless it may be skipped."""
    found = damage.find_batch_after_damage(position, None)
    following = split.end if found is None else found
    if found is not None or not split.ends_log:
        head = file.read(LOG_OVERHEAD, position)
        offset = FRAME.unpack(head)[0] if len(head) == LOG_OVERHEAD else -1
        damage.note_corruption(position, following - position, offset, reason)
    return following
