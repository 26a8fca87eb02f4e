"""Fetched bytes to records."""

import pytest
from stepdown.protocol.errors import CorruptRecord
from stepdown.protocol.messages.fetch import AbortedTransaction
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.protocol.records.record import Record
from stepdown.protocol.records.visible_records import visible_records, visible_rows


def batch(*offsets: int, producer_id: int = -1, **more: object) -> bytes:
    records = [Record(offset=offset, timestamp=1, value=b"v") for offset in offsets]
    return build_batch(records, producer_id=producer_id, transactional=producer_id >= 0, **more)  # type: ignore[arg-type]


def marker(kind: ControlType, offset: int, producer_id: int) -> bytes:
    return build_control_marker(
        kind, offset=offset, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=1
    )


def shown(data: bytes, position: int = 0, *aborted: tuple[int, int]) -> tuple[list[int], int]:
    """Offsets of the records, and where to go on."""
    found = list(
        visible_records(
            memoryview(data), position, [AbortedTransaction(producer_id=each, first_offset=at) for each, at in aborted]
        )
    )
    return [record.offset for _, record in found if record is not None], found[-1][0] if found else position


def test_records_before_the_position_are_left_out() -> None:
    for magic in (0, 1, 2):
        data = batch(0, 1, 2, magic=magic, codec=Codec.GZIP)
        assert shown(data, 1) == ([1, 2], 3), magic


def test_an_aborted_transaction_is_left_out_up_to_its_marker() -> None:
    data = b"".join(
        (
            batch(0, producer_id=7),
            batch(1, producer_id=8),
            marker(ControlType.ABORT, 2, 7),
            batch(3, producer_id=7),
            marker(ControlType.COMMIT, 4, 8),
            batch(5),
        )
    )
    assert shown(data, 0, (7, 0)) == ([1, 3, 5], 6)
    assert shown(data) == ([0, 1, 3, 5], 6)


def test_offsets_without_records_move_the_position() -> None:
    data = marker(ControlType.COMMIT, 9, 7) + build_batch([], base_offset=10, last_offset=12)
    assert shown(data, 9) == ([], 13)


def test_a_part_of_a_batch_is_nothing_yet() -> None:
    assert shown(batch(0, 1)[:-1]) == ([], 0)


def test_a_wrong_checksum_is_told() -> None:
    data = bytearray(batch(0))
    data[-1] ^= 1
    with pytest.raises(CorruptRecord):
        shown(bytes(data))


def test_rows_end_before_the_end_that_was_asked_for() -> None:
    data = memoryview(batch(0, 1, 2, 3, 4, 5))
    ((_, rows), *_) = visible_rows(data, 1, end=4)
    assert rows is not None
    assert list(rows.offsets) == [1, 2, 3]
