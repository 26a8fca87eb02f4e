"""`kafka-segments` as a sink: rows to the segment files of new logs.

    rows.repartition("topic", "partition").sortWithinPartitions("topic", "partition", "offset")
        .write.format("kafka-segments").option("codec", "zstd").mode("append").save(LOG_DIR)

A task writes each partition's log to the disk under a name that is no log's; the commit renames them (`staging.py`).
Columns are those of the source (`writing/rows.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from ...protocol.errors import ApiError
from ...protocol.records.layout import Codec
from ...storage.files.clock import SystemClock
from ...storage.files.files import Files
from ...storage.log.segment import MAX_SEGMENT_BYTES
from ..failures import BadUsage, PipelineFailure
from ..writing.log_writer import DEFAULT_BATCH_BYTES, BatchSettings, LogWriter
from ..writing.rows import Row, rows_of
from ..writing.staging import (
    StagedLog,
    Staging,
    check_no_broker_uses,
    move_staged_into_place,
    new_job_id,
    remove_staged_logs,
)
from .options import check_option_names, require_path, size_option

OPTIONS = ("path", "magic", "codec", "batchBytes", "segmentBytes")
DEFAULT_SEGMENT_BYTES = 1 << 30
REQUIRED_COLUMNS = ("topic", "partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Where to and how. Sizes are in bytes."""

    path: str
    batching: BatchSettings
    segment_bytes: int = DEFAULT_SEGMENT_BYTES


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """The options, with their defaults. Raises: BadUsage naming the option."""
    check_option_names(given, OPTIONS)
    magic, codec = given.get("magic", "2").strip(), given.get("codec", "none").strip().upper()
    if magic not in {"0", "1", "2"}:
        raise BadUsage(f"the option magic is 0, 1 or 2, not {magic!r}")
    if codec not in Codec.__members__:
        names = ", ".join(each.name.lower() for each in Codec)
        raise BadUsage(f"the option codec is one of {names}, not {codec.lower()!r}")
    segment_bytes = size_option(given, "segmentBytes", DEFAULT_SEGMENT_BYTES)
    if segment_bytes > MAX_SEGMENT_BYTES:
        raise BadUsage(f"the option segmentBytes is {MAX_SEGMENT_BYTES} at most, not {segment_bytes}")
    try:
        batching = BatchSettings(
            magic=int(magic), codec=Codec[codec], batch_bytes=size_option(given, "batchBytes", DEFAULT_BATCH_BYTES)
        )
    except ValueError as error:
        raise BadUsage(str(error)) from error
    return WriteOptions(path=require_path(given), batching=batching, segment_bytes=segment_bytes)


def check_written_columns(schema: StructType, known: Mapping[str, DataType]) -> None:
    """Raises: BadUsage for columns that the sink does not know, of another type, or missing."""
    for column in schema.fields:
        if column.name not in known:
            raise BadUsage(f"no column {column.name}: the columns are {', '.join(known)}")
        wanted = [known[column.name].simpleString()]
        if isinstance(known[column.name], BinaryType):
            wanted.append(StringType().simpleString())
        if column.dataType.simpleString() not in wanted:
            raise BadUsage(f"the column {column.name} is {' or '.join(wanted)}, not {column.dataType.simpleString()}")
    for name in REQUIRED_COLUMNS:
        if name not in schema.names:
            raise BadUsage(f"the column {name} is missing")


@dataclass
class StagedLogs(WriterCommitMessage):
    """What one task has staged."""

    staged: tuple[StagedLog, ...]


class SegmentsWriter(DataSourceArrowWriter):
    """One write job. Rows of one partition come to one task, in the order of their offsets if they have any."""

    def __init__(self, options: WriteOptions, overwrite: bool) -> None:
        """Raises: BadUsage; PipelineFailure when a broker uses the directory."""
        if overwrite:
            raise BadUsage('nothing is overwritten: write with mode("append"), into logs without records')
        with _one_line_failures():
            check_no_broker_uses(Files(), options.path)
        self._options = options
        self._job = new_job_id()
        self._written_ms = SystemClock().now_ms()

    def write(self, iterator: Iterator[Any]) -> StagedLogs:
        """Stage the rows of a task. Raises: PipelineFailure."""
        staging = Staging(Files(), self._options.path, self._job, segment_bytes=self._options.segment_bytes)
        logs: dict[tuple[str, int], LogWriter] = {}
        try:
            with _one_line_failures():
                for batch in iterator:
                    for row in rows_of(batch, self._written_ms):
                        _add_row(logs.get(row.topic_partition) or self._open_log(logs, staging, row), row)
                return StagedLogs(tuple(_complete_log(staging, writer) for writer in logs.values()))
        finally:
            for writer in logs.values():
                writer.log.release()

    def _open_log(self, logs: dict[tuple[str, int], LogWriter], staging: Staging, row: Row) -> LogWriter:
        log = staging.open(row.topic, row.partition, first_offset=row.offset or 0)
        writer = logs[row.topic_partition] = LogWriter(log, self._options.batching)
        return writer

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make logs of what all tasks have staged. Raises: PipelineFailure."""
        with _one_line_failures():
            move_staged_into_place(Files(), self._options.path, self._job, _collect_staged_logs(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove what tasks have staged."""
        remove_staged_logs(Files(), self._options.path, self._job)


def _collect_staged_logs(messages: Sequence[WriterCommitMessage | None]) -> list[StagedLog]:
    return [log for message in messages if isinstance(message, StagedLogs) for log in message.staged]


def _add_row(writer: LogWriter, row: Row) -> None:
    offset = writer.next_offset if row.offset is None else row.offset
    if offset < writer.next_offset:
        raise PipelineFailure(
            f"{row.topic}-{row.partition}: offset {offset} comes after {writer.next_offset - 1}; rows have to be in"
            ' order, as .sortWithinPartitions("topic", "partition", "offset") puts them'
        )
    with _one_line_failures(writer.log.name):
        writer.add(replace(row.record, offset=offset))


def _complete_log(staging: Staging, writer: LogWriter) -> StagedLog:
    with _one_line_failures(writer.log.name):
        writer.flush()
    return staging.complete(writer.log, writer.records, writer.stored_bytes)


@contextmanager
def _one_line_failures(name: str | None = None) -> Iterator[None]:
    """What is wrong becomes one line that begins with `name`, which Spark carries to the caller of the write."""
    try:
        yield
    except (ApiError, ValueError) as error:
        raise PipelineFailure(str(error) if name is None else f"{name}: {error}") from error
