"""The metadata log and its snapshots, record by record. Keys of passwords are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from ...protocol.errors import CorruptRecord, InvalidRecord, MalformedFrame
from ...protocol.metadata_log import decode_metadata_record
from ...protocol.quorum_records import decode_control_record
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import iter_batches
from ...protocol.records.record import Record
from ...storage.files.files import Files
from ...storage.metadata.metadata_log_contents import FOLDER, MAX_SEGMENT_BYTES
from .segment_rows import Row, problem_row

SNAPSHOT = ".checkpoint"
SECRETS = frozenset({"salt", "stored_key", "server_key"})


def is_metadata_log_file(path: Path) -> bool:
    """Whether the file is a segment or a snapshot of the metadata log."""
    return path.suffix == SNAPSHOT or (path.parent.name == FOLDER and path.suffix == ".log")


def metadata_rows(files: Files, path: Path) -> Iterator[Row]:
    """A row of kind "metadata" for each record, "problem" for what cannot be read. Raises: DiskFault."""
    data = files.read_whole(str(path), MAX_SEGMENT_BYTES) or b""
    position = 0
    try:
        for batch in iter_batches(data):
            if not isinstance(batch, RecordBatch):
                raise CorruptRecord("a batch of an old magic")
            batch.ensure_valid()
            for record in batch.records():
                yield _record_row(batch, record)
            position += batch.size_bytes
    except (CorruptRecord, InvalidRecord, MalformedFrame) as fault:
        yield problem_row(f"position {position}: {fault}")
        return
    if position < len(data):
        yield problem_row(f"position {position}: {len(data) - position} bytes are no whole batch")


def _record_row(batch: RecordBatch, record: Record) -> Row:
    value = memoryview(record.value or b"")
    if batch.is_control:
        decoded = decode_control_record(memoryview(record.key or b""), value)
    else:
        decoded = decode_metadata_record(value)
    row: Row = {"kind": "metadata", "offset": record.offset, "epoch": batch.partition_leader_epoch}
    return row | {"type": type(decoded).__name__ if decoded is not None else "passed over", **_fields_as_texts(decoded)}


def _fields_as_texts(record: Any) -> Row:
    if not is_dataclass(record):
        return {}
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    return {name: "(secret)" if name in SECRETS else _json_value(value) for name, value in values.items()}


def _json_value(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
