"""Records of `__transaction_state`: what the coordinator knows of each transactional id (KIP-98).

    key      version int16 (0) | transactional id string
    value 0  version int16 | producer id int64 | producer epoch int16 | timeout int32 ms | status int8
             | partitions: nullable array of (topic string, array of int32) | last update int64 | start int64
          1  as 0 with compact strings and arrays, and tagged fields (transaction.version 1 and above)

Source: Kafka 3.9, TransactionLogKey.json, TransactionLogValue.json, TransactionLog. Written is value version 0, as 3.9
writes; the partitions are null in status Empty. A null value takes the transactional id away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..schema import array, decode, int8, int16, int32, int64, message, string, struct
from .versioned import encode_with_version, split_version

_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 0
_LAST_VALUE_VERSION: Final = 1


@message(versions="0")
class TransactionLogKey:
    """Whose transaction."""

    transactional_id: str = string()


@struct
class PartitionsSchema:
    """Partitions of one topic."""

    topic: str = string()
    partition_ids: Sequence[int] = array(int32)


@message(versions="0-1", flexible="1+")
class TransactionLogValue:
    """Producer and state. `transaction_start_timestamp_ms` is -1 when no transaction has begun."""

    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: Sequence[PartitionsSchema] | None = array(PartitionsSchema, nullable="0+")
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRecord:
    """A transactional id and its value; None is the tombstone that takes it away."""

    transactional_id: str
    value: TransactionLogValue | None


def encode_transaction_record(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    """The key's and the value's bytes; a tombstone has no value."""
    key = encode_with_version(TransactionLogKey(transactional_id=record.transactional_id), _KEY_VERSION)
    return key, None if record.value is None else encode_with_version(record.value, _VALUE_VERSION)


def decode_transaction_record(key: bytes | memoryview, value: bytes | memoryview | None) -> TransactionRecord | None:
    """The record; None when the version of its key or value is not known, which a newer broker may have written.

    Raises: MalformedFrame when the bytes are not what their version says.
    """
    key_version, key_body = split_version(key)
    if key_version != _KEY_VERSION:
        return None
    transactional_id = decode(TransactionLogKey, key_version, key_body).transactional_id
    if value is None:
        return TransactionRecord(transactional_id=transactional_id, value=None)
    version, body = split_version(value)
    if not 0 <= version <= _LAST_VALUE_VERSION:
        return None
    return TransactionRecord(transactional_id=transactional_id, value=decode(TransactionLogValue, version, body))
