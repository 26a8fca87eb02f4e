"""Logs in a temporary folder, and the batches to put into them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import RECORD_BATCH_OVERHEAD
from stepdown.protocol.records.record import Record
from stepdown.storage.files.files import Files
from stepdown.storage.log.delayed_deletion import PendingDeletions
from stepdown.storage.log.log import AppendInfo, Log
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.recovery.log_loading import LogOpening, open_log
from stepdown.storage.validation.prepared_append import AppendOrigin, PreparedAppend
from support.clock import ManualClock

NOW = 1_700_000_000_000
TOPIC = "orders"


def make_log(
    directory: Path,
    *,
    files: Files | None = None,
    clock: ManualClock | None = None,
    clean: bool = True,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    **config: object,
) -> Log:
    """The log in `directory`, made if missing; `config` are fields of LogConfig."""
    directory.mkdir(parents=True, exist_ok=True)
    files = files or Files()
    opening = LogOpening(
        files=files,
        clock=clock or ManualClock(NOW),
        deletions=PendingDeletions(files),
        clean=clean,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
    )
    return open_log(str(directory), TOPIC, 0, LogConfig(**config), opening)  # type: ignore[arg-type]


def batch(*values: bytes | int, timestamp: int = NOW, first_offset: int = 0, magic: int = 2, **fields: object) -> bytes:
    """A batch with these values (a number n: n bytes), one millisecond apart."""
    records = [
        Record(
            offset=first_offset + n,
            timestamp=timestamp + n if magic else -1,
            key=None,
            value=bytes(value) if isinstance(value, int) else value,
        )
        for n, value in enumerate(values)
    ]
    return build_batch(records, magic=magic, **fields)  # type: ignore[arg-type]


def prepared(data: bytes, origin: AppendOrigin = AppendOrigin.CLIENT) -> PreparedAppend:
    """What the produce path makes of this v2 batch."""
    view = RecordBatch(memoryview(data))
    return PreparedAppend(
        head=bytes(view.data[:RECORD_BATCH_OVERHEAD]),
        body=view.body,
        record_count=view.record_count,
        last_offset_delta=view.last_offset_delta,
        max_timestamp=view.max_timestamp,
        producer_id=view.producer_id,
        producer_epoch=view.producer_epoch,
        base_sequence=view.base_sequence,
        is_transactional=view.is_transactional,
        is_control=view.is_control,
        origin=origin,
        received_bytes=len(data),
    )


def append(log: Log, *values: bytes | int, leader_epoch: int = 0, **fields: object) -> AppendInfo:
    """Append one batch with these values."""
    return log.append(prepared(batch(*values, **fields)), leader_epoch=leader_epoch)  # type: ignore[arg-type]


def read_all(log: Log, offset: int | None = None, max_bytes: int = 1 << 20) -> Iterator[Record]:
    """The records from `offset` (the log's start) to its end, read as a consumer would."""
    offset = log.log_start_offset if offset is None else offset
    while offset < log.log_end_offset:
        found = log.read(offset, max_bytes, below=log.log_end_offset, min_one_message=True)
        if not found.size_bytes:
            return
        for each in iter_batches(found.read(0, found.size_bytes)):
            each.ensure_valid()
            yield from (record for record in each.records() if record.offset >= offset)
            last_offset = each.last_offset
        offset = last_offset + 1


def values_of(records: Iterator[Record]) -> Sequence[bytes | None]:
    return [None if record.value is None else bytes(record.value) for record in records]


def file_names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
