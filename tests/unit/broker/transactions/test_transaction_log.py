"""Records of `__transaction_state`, against bytes that Kafka 3.9.1 writes for the same values."""

import pytest
from stepdown.protocol.coordinator.transaction_log import (
    PartitionsSchema,
    TransactionLogValue,
    TransactionRecord,
    decode_transaction_record,
    encode_transaction_record,
)
from stepdown.protocol.errors import MalformedFrame

KEY = bytes.fromhex("000000027431")
EMPTY = bytes.fromhex("0000000000000000000700030000ea6000ffffffff0000018bcfe56800ffffffffffffffff")
ONGOING = bytes.fromhex(
    "0000" "0000000000000007" "0003" "0000ea60" "01"
    "00000001" "0001" "61" "00000002" "00000000" "00000005"
    "0000018bcfe56800" "0000018bcfe567ff"
)  # fmt: skip


def value(status: int, start: int, partitions: tuple[PartitionsSchema, ...] | None) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=7,
        producer_epoch=3,
        transaction_timeout_ms=60_000,
        transaction_status=status,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=1_700_000_000_000,
        transaction_start_timestamp_ms=start,
    )


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        (EMPTY, value(0, -1, None)),
        (ONGOING, value(1, 1_699_999_999_999, (PartitionsSchema(topic="a", partition_ids=(0, 5)),))),
        (None, None),
    ],
)
def test_a_record_is_written_and_read_as_kafka_does(
    expected: bytes | None, written: TransactionLogValue | None
) -> None:
    record = TransactionRecord(transactional_id="t1", value=written)
    assert encode_transaction_record(record) == (KEY, expected)
    assert decode_transaction_record(KEY, expected) == record


def test_the_flexible_version_of_newer_brokers_is_read() -> None:
    flexible = b"\0\1" + ONGOING[2:17] + bytes.fromhex("02026103000000000000000500") + ONGOING[-16:] + b"\0"
    found = decode_transaction_record(KEY, flexible)
    assert found is not None
    assert found.value == value(1, 1_699_999_999_999, (PartitionsSchema(topic="a", partition_ids=(0, 5)),))


def test_versions_of_the_future_are_skipped() -> None:
    assert decode_transaction_record(b"\0\1" + KEY[2:], None) is None
    assert decode_transaction_record(KEY, b"\0\2" + EMPTY[2:]) is None


@pytest.mark.parametrize("size", [0, 1, 5])
def test_what_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(MalformedFrame):
        decode_transaction_record(KEY[:size], EMPTY)
    with pytest.raises(MalformedFrame):
        decode_transaction_record(KEY, EMPTY[:size])
