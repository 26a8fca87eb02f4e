"""Rows of Arrow record batches as records of topic partitions.

| column | type | absent or null |
|---|---|---|
| topic | string | not allowed |
| partition | int | not allowed |
| key, value | binary or string | a null key or value |
| offset | bigint | the next of the partition |
| timestamp | timestamp | the time of the write; below a millisecond it is cut off |
| timestampType | int | 0, CreateTime; 1 is LogAppendTime, -1 (of magic 0) becomes 0 |
| headers | array<struct<key:string,value:binary>> | none; magic 0 and 1 can hold none |
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ...protocol.records.layout import TimestampType
from ...protocol.records.record import Header, Record
from ...storage.files.file_names import SKIPPED_DIRECTORIES, fault_of_topic_name
from ..failures import PipelineFailure
from ..reading.arrow_columns import MICROSECONDS


class Row(NamedTuple):
    """A record and where it goes. `offset` None is the next offset of the partition; `record.offset` is ignored."""

    topic: str
    partition: int
    offset: int | None
    record: Record

    @property
    def topic_partition(self) -> tuple[str, int]:
        """Its topic and partition."""
        return self.topic, self.partition


def rows_of(batch: Any, written_ms: int) -> Iterator[Row]:
    """Yield the rows of a record batch whose columns are checked. Raises: PipelineFailure for what no log can hold."""
    found = {name: batch.column(at) for at, name in enumerate(batch.schema.names)}

    def values(name: str, kind: Any = None) -> Sequence[Any]:
        column = found.get(name)
        if column is None:
            return [None] * len(batch)
        return (column if kind is None else column.cast(kind)).to_pylist()  # type: ignore[no-any-return]

    for topic, partition, offset, timestamp, kind, key, value, headers in zip(
        values("topic"),
        values("partition"),
        values("offset"),
        _milliseconds(found.get("timestamp"), len(batch)),
        values("timestampType"),
        values("key", pa.binary()),
        values("value", pa.binary()),
        values("headers"),
        strict=True,
    ):
        _check_destination(topic, partition, offset)
        record = Record(
            timestamp=written_ms if timestamp is None else timestamp,
            timestamp_type=_parse_timestamp_type(kind),
            key=key,
            value=value,
            headers=_parse_headers(headers) if headers else (),
        )
        yield Row(topic, partition, offset, record)


def _milliseconds(column: Any, rows: int) -> Sequence[int | None]:
    if column is None:
        return [None] * rows
    return [
        None if time is None else time // MICROSECONDS
        for time in column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    ]


def _check_destination(topic: str | None, partition: int | None, offset: int | None) -> None:
    fault = "a row has no topic" if topic is None else fault_of_topic_name(topic)
    if fault is None and (partition is None or partition < 0):
        fault = f"a row of topic {topic} has partition {partition}"
    if fault is None and f"{topic}-{partition}" in SKIPPED_DIRECTORIES:
        fault = f"{topic}-{partition} is no log that is written from outside"
    if fault is None and offset is not None and offset < 0:
        fault = f"a row of {topic}-{partition} has offset {offset}"
    if fault is not None:
        raise PipelineFailure(fault)


def _parse_timestamp_type(kind: int | None) -> TimestampType:
    match kind:
        case None | TimestampType.NONE | TimestampType.CREATE_TIME:
            return TimestampType.CREATE_TIME
        case TimestampType.LOG_APPEND_TIME:
            return TimestampType.LOG_APPEND_TIME
        case _:
            raise PipelineFailure(f"timestampType {kind}: 0 is CreateTime, 1 is LogAppendTime")


def _parse_headers(headers: Sequence[dict[str, Any] | None]) -> tuple[Header, ...]:
    found = []
    for header in headers:
        if header is None or header["key"] is None:
            raise PipelineFailure("a header has no key")
        found.append((header["key"], header["value"]))
    return tuple(found)
