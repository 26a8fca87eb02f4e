"""`__transaction_state` on the disk of a stopped broker: what it knows, and what it may have written at last."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stepdown.broker.transactions.transaction_status import TransactionStatus
from stepdown.protocol.coordinator.transaction_log import (
    TransactionLogValue,
    TransactionRecord,
    decode_transaction_record,
    encode_transaction_record,
)
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record

TOPIC = "__transaction_state"


def known_transactions(log_dir: Path) -> dict[str, TransactionLogValue]:
    """The last value of each transactional id, in all partitions."""
    found: dict[str, TransactionLogValue | None] = {}
    for folder in _partitions(log_dir):
        for segment in sorted(folder.glob("*.log")):
            for batch in iter_batches(memoryview(segment.read_bytes())):
                for record in batch.records():
                    read = decode_transaction_record(record.key or b"", record.value)
                    assert read is not None
                    found[read.transactional_id] = read.value
    return {name: value for name, value in found.items() if value is not None}


def states(log_dir: Path) -> dict[str, TransactionStatus]:
    """Where each transactional id stands."""
    return {name: TransactionStatus(value.transaction_status) for name, value in known_transactions(log_dir).items()}


def amend(log_dir: Path, transactional_id: str, status: TransactionStatus, *, timeout_ms: int | None = None) -> None:
    """Write one more record about an open transaction, as the broker that died wrote at last; it must not run."""
    value = known_transactions(log_dir)[transactional_id]
    assert value.transaction_status == TransactionStatus.ONGOING
    if timeout_ms is not None:
        value = replace(value, transaction_timeout_ms=timeout_ms)
    if status.is_idle:
        value = replace(value, transaction_partitions=())
    folder = next(each for each in _partitions(log_dir) if _holds(each, transactional_id))
    segment = max(folder.glob("*.log"))
    last = [batch for file in sorted(folder.glob("*.log")) for batch in iter_batches(memoryview(file.read_bytes()))][-1]
    record = TransactionRecord(transactional_id=transactional_id, value=replace(value, transaction_status=status))
    key, data = encode_transaction_record(record)
    timestamp = value.transaction_last_update_timestamp_ms
    batch = build_batch(
        [Record(offset=last.last_offset + 1, timestamp=timestamp, key=key, value=data)],
        partition_leader_epoch=last.partition_leader_epoch,
    )
    with segment.open("ab") as file:
        file.write(batch)
    (log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)


def _partitions(log_dir: Path) -> Iterator[Path]:
    yield from sorted(log_dir.glob(f"{TOPIC}-*"))


def _holds(folder: Path, transactional_id: str) -> bool:
    return any(transactional_id.encode() in segment.read_bytes() for segment in folder.glob("*.log"))
