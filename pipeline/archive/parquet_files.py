"""A task of an archive: a run of splits of one partition becomes Parquet files, one for each period that it has.

    <out>/topic=<topic>/date=<day>/part-<batch>-<partition>-<first offset>.parquet     (`partitioning.py`)

Columns are those of Spark's Kafka source but for the topic, which the folder names; with `timestamp_ms`

    timestampMs bigint  the timestamp as it is stored; `timestamp` is null where Spark cannot hold it

and with lineage

    segment bigint      base offset of the segment's file
    batch bigint        base offset of the record batch; of a compressed wrapper of magic 0 or 1 its last offset
    epoch int           leader epoch of the batch; -1 where its magic has none

The same splits give the same bytes under the same names, so that a task which is run again changes nothing.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.columns import WantedRows
from ..console_output import print_to_stderr
from ..places.object_files import ObjectFiles
from ..places.place_files import PlaceFiles
from ..reading.arrow_columns import TYPES, ArrowBatchMaker
from ..reading.split_damage import DamagePolicy
from ..reading.split_rows import SplitRows
from ..reading.splits import Split
from .partitioning import PartitionBy, first_days_of_periods, folder_of, partition_values

STAGED = "_staged"
"""Where files lie until they are whole, in a file system; readers pass by names that begin so."""
ROW_GROUP_BYTES = 64 << 20
COLUMNS = ("key", "value", "partition", "offset", "timestamp", "timestampType", "headers")
TIMESTAMP_MS = "timestampMs"
LINEAGE = {"segment": pa.int64(), "batch": pa.int64(), "epoch": pa.int32()}
_COUNTED = ["partition", "offset", "timestamp"]
"""The columns of which files tell least and most: keys and values are of no use there, and long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveTask:
    """Splits of one partition, in the order of their offsets. `store` are options of the object stores."""

    out: str
    batch: int
    splits: tuple[Split, ...]
    lineage: bool
    timestamp_ms: bool = False
    partition_by: PartitionBy = "date"
    lost_is_failure: bool = True
    store: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    """A file that was written. `path` counts from the table's; offsets include both ends.

    `values` are those of the columns that its folders name.
    """

    path: str
    topic: str
    values: Mapping[str, str]
    partition: int
    rows: int
    size_bytes: int
    first_offset: int
    last_offset: int


def columns_of(timestamp_ms: bool) -> tuple[str, ...]:
    """The columns of the files but for lineage."""
    return (*COLUMNS, TIMESTAMP_MS) if timestamp_ms else COLUMNS


def file_schema(lineage: bool, timestamp_ms: bool) -> Any:
    """The Arrow schema of the files."""
    fields = [pa.field(name, TYPES[name]) for name in columns_of(timestamp_ms)]
    return pa.schema(fields + ([pa.field(name, kind) for name, kind in LINEAGE.items()] if lineage else []))


def write_task(task: ArchiveTask) -> list[ArchivedFile]:
    """Write the task's files. Raises: PipelineFailure, DiskFault."""
    files = PlaceFiles(task.store, writable=True)
    periods: dict[int, GrowingFile] = {}
    for batch in _read_arrow_batches(files, task):
        for period, rows in _split_by_period(batch, task.partition_by):
            opened = periods.get(period)
            if opened is None:
                opened = periods[period] = GrowingFile(file_schema(task.lineage, task.timestamp_ms))
            opened.add(rows)
        if sum(each.pending_bytes for each in periods.values()) >= ROW_GROUP_BYTES:
            max(periods.values(), key=lambda each: each.pending_bytes).flush()
    return [_write_file(files, task, period, periods.pop(period)) for period in sorted(periods)]


def _read_arrow_batches(files: PlaceFiles, task: ArchiveTask) -> Iterator[Any]:
    without_times = 0
    for split in task.splits:
        wanted = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset, headers=True)
        arrow = ArrowBatchMaker(columns_of(task.timestamp_ms), split.topic, split.partition)
        leniency = DamagePolicy(fail_on_data_loss=task.lost_is_failure)
        rows = SplitRows(files, split, wanted, leniency, keep_headers=task.lineage)
        for columns in rows:
            batch = arrow.make_record_batch(columns)
            without_times += batch.column(COLUMNS.index("timestamp")).null_count
            yield _add_lineage_columns(batch, split, rows.headers, task) if task.lineage else batch
        for damage in leniency.skipped:
            print_to_stderr(str(damage))
    if without_times and not task.timestamp_ms:
        where = f"{task.splits[0].topic}-{task.splits[0].partition}"
        print_to_stderr(
            f"{where}: {without_times:,} records have a time that Spark cannot hold: null; --timestamp-ms keeps it"
        )


def _add_lineage_columns(batch: Any, split: Split, headers: Sequence[BatchHeader], task: ArchiveTask) -> Any:
    """The batch with the columns of `LINEAGE`, which `headers` tells: those of all batches so far."""
    offsets = np.frombuffer(batch.column(COLUMNS.index("offset")).buffers()[1], np.int64, batch.num_rows)
    of_row = np.searchsorted(np.array([each.last_offset for each in headers], np.int64), offsets)
    found = {
        "segment": np.full(batch.num_rows, split.base_offset, np.int64),
        "batch": np.array([each.base_offset for each in headers], np.int64)[of_row],
        "epoch": np.array([each.leader_epoch for each in headers], np.int32)[of_row],
    }
    arrays = [
        pa.Array.from_buffers(kind, batch.num_rows, [None, pa.py_buffer(found[name])]) for name, kind in LINEAGE.items()
    ]
    return pa.RecordBatch.from_arrays([*batch.columns, *arrays], schema=file_schema(True, task.timestamp_ms))


def _split_by_period(batch: Any, partition_by: PartitionBy) -> Iterator[tuple[int, Any]]:
    """The rows of each period, by its first day, in their order."""
    times = np.frombuffer(batch.column(COLUMNS.index("timestamp")).buffers()[1], np.int64, batch.num_rows)
    periods = first_days_of_periods(partition_by, times)
    found = np.unique(periods).tolist()
    for period in found:
        if len(found) == 1:
            yield period, batch
        else:
            bits = pa.py_buffer(np.packbits(periods == period, bitorder="little"))
            yield period, batch.filter(pa.Array.from_buffers(pa.bool_(), batch.num_rows, [None, bits]))


class GrowingFile:
    """A Parquet file as it grows, in memory. `pending_bytes` are in no row group yet."""

    def __init__(self, schema: Any) -> None:
        self._out = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(
            self._out,
            schema,
            compression="zstd",
            use_dictionary=["partition", "timestampType"],
            write_statistics=_COUNTED,
        )
        self._pending: list[Any] = []
        self.pending_bytes = 0
        self.rows = 0
        self.first_offset = self.last_offset = -1

    def add(self, batch: Any) -> None:
        offsets = batch.column(COLUMNS.index("offset"))
        if not self.rows:
            self.first_offset = offsets[0].as_py()
        self.last_offset = offsets[-1].as_py()
        self.rows += batch.num_rows
        self._pending.append(batch)
        self.pending_bytes += batch.nbytes

    def flush_if_large(self) -> None:
        """Write what is pending if it is enough for a row group."""
        if self.pending_bytes >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is pending as a row group."""
        if self._pending:
            table = pa.Table.from_batches(self._pending)
            self._writer.write_table(table, row_group_size=table.num_rows)
        self._pending, self.pending_bytes = [], 0

    def finish(self) -> bytes:
        """The whole file."""
        self.flush()
        self._writer.close()
        return bytes(self._out.getvalue())


def _write_file(files: PlaceFiles, task: ArchiveTask, period: int, written: GrowingFile) -> ArchivedFile:
    data = written.finish()
    split = task.splits[0]
    name = part_name_prefix(task.batch) + f"{split.partition}-{written.first_offset:020d}.parquet"
    values = partition_values(task.partition_by, split.topic, period)
    folder = folder_of(values)
    write_atomically(files, task.out, folder, name, data)
    return ArchivedFile(
        path=f"{folder}/{name}",
        topic=split.topic,
        values=values,
        partition=split.partition,
        rows=written.rows,
        size_bytes=len(data),
        first_offset=written.first_offset,
        last_offset=written.last_offset,
    )


def part_name_prefix(batch: int) -> str:
    """How the names of a batch's files begin."""
    return f"part-{batch:08d}-"


def write_atomically(files: PlaceFiles, out: str, folder: str, name: str, data: bytes) -> None:
    """Write the file so that readers see all of it or nothing; in a file system by way of a name that they ignore."""
    store = files.files_for(out)
    if isinstance(store, ObjectFiles):
        store.replace(f"{out}/{folder}/{name}", data)
        return
    staged = f"{out}/{STAGED}/{name}-{uuid.uuid4()}"
    store.make_directory(f"{out}/{STAGED}")
    store.replace(staged, data)
    store.make_directory(f"{out}/{folder}")
    store.rename(staged, f"{out}/{folder}/{name}")
    store.sync_directory(f"{out}/{folder}")
