"""A segment file batch by batch: headers, checksums, and records if asked for.

The file is read in windows, so memory does not grow with it: at most one batch is held, and only to show its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

from ...protocol.errors import CorruptRecord, InvalidRecord, PeerFault
from ...protocol.records import kernel
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.batches import view_batch
from ...protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    DELETE_HORIZON_BIT,
    LEGACY_CRC_OFFSET,
    MAGIC_V2,
    TIMESTAMP_TYPE_BIT,
    Codec,
    ControlType,
    next_sequence,
)
from ...protocol.records.legacy_batch import LegacyBatch
from ...protocol.records.record import Record
from ...storage.files.file_handle import FileHandle
from ...storage.log.batch_scan import SCAN_WINDOW_BYTES, batch_headers
from ...storage.log.preallocated_zeros import is_all_zeros

MAX_BATCH_BYTES = 268_435_456
"""The records of a batch are shown up to this size, compressed or not; a larger batch is only checked."""

Row = dict[str, Any]

_MARKER_KEY = Struct(">hh")
_MARKER_VALUE = Struct(">hi")
_LEGACY_CRC_BYTES = 4


def segment_rows(file: FileHandle, size_now: Callable[[], int], base_offset: int, *, records: bool) -> Iterator[Row]:
    """Yields a row of kind "batch" for each batch, "record" for each record with `records`, "problem" for each fault.

    A broker may append to the file meanwhile, or cut off zeros that `preallocate` added: all batches of the beginning
    are shown. A row of kind "reserved" stands for such zeros.
    """
    wanted = size_bytes = size_now()
    last_offset = base_offset - 1
    position = end = 0
    while True:
        fault = ""
        try:
            for row in _batch_rows(file, position, size_bytes, last_offset, records=records):
                if row["kind"] == "batch":
                    end, last_offset = row["position"] + row["size_bytes"], max(last_offset, row["last_offset"])
                yield row
        except CorruptRecord as found:
            fault = f"what follows cannot be read: {found}"
        if end >= size_bytes or end >= wanted:
            return
        if is_all_zeros(file, end, size_bytes):
            yield {"kind": "reserved", "position": end, "size_bytes": size_bytes - end}
            return
        before, size_bytes = size_bytes, size_now()
        if size_bytes == before and end == position:
            yield problem_row(fault or f"the last {size_bytes - end} bytes are no whole batch", position=end)
            return
        position = end


def _batch_rows(file: FileHandle, position: int, size_bytes: int, last_offset: int, *, records: bool) -> Iterator[Row]:
    """The rows of the batches from `position` on. Raises: CorruptRecord."""
    for header in batch_headers(file, position, size_bytes):
        valid = compute_checksum(file, header) == header.crc
        if not valid:  # it may have been read while a broker wrote it
            header = next(batch_headers(file, header.position, size_bytes), header)
            valid = compute_checksum(file, header) == header.crc
        yield _batch_row(header, valid)
        if not valid:
            yield problem_row("the checksum does not match", position=header.position, offset=header.base_offset)
        if _first_possible_offset(header) <= last_offset:
            text = f"offset {header.base_offset} comes after offset {last_offset}"
            yield problem_row(text, position=header.position, offset=header.base_offset)
        if header.magic > MAGIC_V2:
            yield problem_row(f"the magic {header.magic} is unknown", position=header.position)
        elif records and valid:
            yield from _record_rows(file, header)
        last_offset = max(last_offset, header.last_offset)


def problem_row(message: str, **where: int) -> Row:
    """Returns a row of kind "problem"; `where`: its other fields."""
    return {"kind": "problem", "message": message, **where}


def compute_checksum(file: FileHandle, header: BatchHeader) -> int:
    """Returns the checksum of the batch's bytes, which are read in windows."""
    add = kernel.crc32c if header.magic >= MAGIC_V2 else kernel.crc32
    begin = ATTRIBUTES_OFFSET if header.magic >= MAGIC_V2 else LEGACY_CRC_OFFSET + _LEGACY_CRC_BYTES
    position, checksum = header.position + begin, 0
    while position < header.end:
        part = file.read(min(SCAN_WINDOW_BYTES, header.end - position), position)
        if not part:
            raise CorruptRecord(f"the file ends at {position}, inside a batch")
        checksum = add(part, checksum)
        position += len(part)
    return checksum


def _first_possible_offset(header: BatchHeader) -> int:
    """Returns the base offset; for v0 and v1 the last one, since a compressed wrapper has no other."""
    return header.base_offset if header.magic >= MAGIC_V2 else header.last_offset


def _batch_row(header: BatchHeader, valid: bool) -> Row:
    row: Row = {
        "kind": "batch",
        "position": header.position,
        "size_bytes": header.size_bytes,
        "magic": header.magic,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count if header.record_count >= 0 else None,
        "codec": codec_name(header.attributes & CODEC_MASK),
        "timestamp_type": _timestamp_type(header),
        "max_timestamp": header.max_timestamp,
        "crc": header.crc,
        "valid": valid,
    }
    if header.magic < MAGIC_V2 and header.attributes & CODEC_MASK:
        row["base_offset"] = None
    if header.magic >= MAGIC_V2:
        sequence = header.base_sequence
        row |= {
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": sequence,
            "last_sequence": sequence
            if sequence < 0
            else next_sequence(sequence, header.last_offset - header.base_offset),
            "leader_epoch": header.leader_epoch,
            "transactional": header.is_transactional,
            "control": header.is_control,
            "has_delete_horizon": bool(header.attributes & DELETE_HORIZON_BIT),
        }
    return row


def codec_name(number: int) -> str:
    """Returns Kafka's name of a codec, or "unknown N"."""
    return Codec(number).name.lower() if number <= max(Codec) else f"unknown {number}"


def _timestamp_type(header: BatchHeader) -> str | None:
    if header.magic == 0:
        return None
    return "LogAppendTime" if header.attributes & TIMESTAMP_TYPE_BIT else "CreateTime"


def _record_rows(file: FileHandle, header: BatchHeader) -> Iterator[Row]:
    if header.size_bytes > MAX_BATCH_BYTES:
        yield problem_row(f"a batch of {header.size_bytes} bytes is too large to be opened", position=header.position)
        return
    try:
        batch = view_batch(memoryview(file.read(header.size_bytes, header.position)))
        for record in batch.records(MAX_BATCH_BYTES):
            yield _record_row(batch, record)
    except PeerFault as fault:
        yield problem_row(f"the records cannot be read: {fault}", position=header.position, offset=header.base_offset)


def _record_row(batch: RecordBatch | LegacyBatch, record: Record) -> Row:
    row: Row = {"kind": "record", "offset": record.offset, "timestamp": record.timestamp}
    if isinstance(batch, RecordBatch):
        if batch.base_sequence >= 0:
            row["sequence"] = next_sequence(batch.base_sequence, record.offset - batch.base_offset)
        row["headers"] = [(name, None if value is None else bytes(value)) for name, value in record.headers]
        if batch.is_control:
            row |= _parse_control_record(record)
    row["key"] = None if record.key is None else bytes(record.key)
    row["value"] = None if record.value is None else bytes(record.value)
    return row


def _parse_control_record(record: Record) -> Row:
    """Returns the fields of a control record."""
    if record.key is None or len(record.key) < _MARKER_KEY.size:
        raise InvalidRecord(f"the control record at offset {record.offset} has no whole key")
    number = _MARKER_KEY.unpack_from(record.key)[1]
    known = number in set(ControlType)
    row: Row = {"control_type": ControlType(number).name if known else f"unknown {number}"}
    ends_transaction = number in (ControlType.ABORT, ControlType.COMMIT)
    if ends_transaction and record.value is not None and len(record.value) >= _MARKER_VALUE.size:
        row["coordinator_epoch"] = _MARKER_VALUE.unpack_from(record.value)[1]
    return row
