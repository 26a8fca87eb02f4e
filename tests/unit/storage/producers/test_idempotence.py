"""KIP-98, KIP-360: what a log makes of sequence numbers. Against Kafka itself: tests/differential/."""

from pathlib import Path

import pytest
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.storage.files.files import Files
from stepdown.storage.log.delayed_deletion import PendingDeletions
from stepdown.storage.log.log import AppendInfo, Log
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.recovery.log_loading import LogOpening, open_log
from stepdown.storage.validation.append_rules import AppendRules
from stepdown.storage.validation.prepared_append import AppendOrigin
from stepdown.storage.validation.record_sets import prepare
from support.clock import ManualClock
from support.record_sets import NOW, record_set, records

LAST_SEQUENCE = (1 << 31) - 1


def opened(directory: Path, *, clean: bool = True) -> Log:
    files, clock = Files(), ManualClock(NOW)
    directory.mkdir(exist_ok=True)
    opening = LogOpening(files=files, clock=clock, deletions=PendingDeletions(files), clean=clean)
    return open_log(str(directory), "orders", 0, LogConfig(), opening)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return opened(tmp_path / "orders-0")


def send(
    log: Log,
    sequence: int,
    count: int = 1,
    *,
    producer: int = 7,
    epoch: int = 0,
    codec: Codec = Codec.NONE,
    transactional: bool = False,
    rules: AppendRules | None = None,
) -> AppendInfo:
    data = record_set(
        2,
        codec,
        records(*[NOW - 5] * count),
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    return log.append(prepare(memoryview(data), rules or AppendRules(), now_ms=NOW), leader_epoch=0)


def end_transaction(
    log: Log, kind: ControlType, *, producer: int = 7, epoch: int = 0, coordinator_epoch: int = 0
) -> None:
    marker = build_control_marker(
        kind,
        offset=0,
        producer_id=producer,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp=NOW,
    )
    prepared = prepare(memoryview(marker), AppendRules(), now_ms=NOW, origin=AppendOrigin.COORDINATOR)
    log.append(prepared, leader_epoch=0)


def refused(code: ErrorCode, log: Log, sequence: int, count: int = 1, **producer: int) -> None:
    end = log.log_end_offset
    with pytest.raises(ApiError) as caught:
        send(log, sequence, count, **producer)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert log.log_end_offset == end


def test_consecutive_sequences_are_taken(log: Log) -> None:
    assert [send(log, 0, 3).first_offset, send(log, 3, 2).first_offset, send(log, 5).first_offset] == [0, 3, 5]


def test_an_unknown_producer_may_begin_anywhere(log: Log) -> None:
    assert send(log, 41).first_offset == 0
    assert send(log, 42).first_offset == 1


@pytest.mark.parametrize("sequence", [0, 3, 7, 100], ids=["again from 0", "back inside", "a gap of one", "a large gap"])
def test_any_other_sequence_is_out_of_order(log: Log, sequence: int) -> None:
    send(log, 2, 4)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, sequence)


def test_zero_follows_the_last_sequence(log: Log) -> None:
    send(log, LAST_SEQUENCE - 1, 2)
    assert send(log, 0).first_offset == 2


def test_a_batch_across_the_last_sequence_is_followed_by_what_is_left(log: Log) -> None:
    send(log, LAST_SEQUENCE - 1, 4)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 0)
    assert send(log, 2).first_offset == 4
    assert send(log, LAST_SEQUENCE - 1, 4).duplicate


def test_each_of_the_last_five_batches_is_a_duplicate_with_its_first_answer(log: Log) -> None:
    for sequence in range(0, 14, 2):
        send(log, sequence, 2)
    for sequence in range(4, 14, 2):
        info = send(log, sequence, 2)
        assert info.duplicate
        assert (info.first_offset, info.last_offset, info.log_append_time_ms) == (sequence, sequence + 1, NOW - 5)
    assert log.log_end_offset == 14


def test_a_duplicate_older_than_five_batches_is_out_of_order(log: Log) -> None:
    for sequence in range(6):
        send(log, sequence)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 0)


def test_a_batch_with_only_one_end_in_common_is_no_duplicate(log: Log) -> None:
    send(log, 0, 4)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 0, 3)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 1, 3)


def test_a_lower_epoch_is_refused_even_with_the_next_sequence(log: Log) -> None:
    send(log, 0, epoch=4)
    refused(ErrorCode.INVALID_PRODUCER_EPOCH, log, 1, epoch=3)


def test_a_higher_epoch_begins_at_zero(log: Log) -> None:
    send(log, 0, 5)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 5, epoch=1)
    assert send(log, 0, epoch=1).first_offset == 5
    refused(ErrorCode.INVALID_PRODUCER_EPOCH, log, 5, epoch=0)


def test_a_batch_of_an_older_epoch_is_no_duplicate(log: Log) -> None:
    send(log, 0)
    send(log, 0, epoch=1)
    refused(ErrorCode.INVALID_PRODUCER_EPOCH, log, 0, epoch=0)
    assert send(log, 0, epoch=1).duplicate


def test_producers_do_not_meet(log: Log) -> None:
    send(log, 5, producer=1)
    assert send(log, 0, producer=2).first_offset == 1
    assert send(log, 6, producer=1).first_offset == 2


def test_batches_without_a_producer_do_not_count(log: Log) -> None:
    send(log, 0)
    data = record_set(2)
    log.append(prepare(memoryview(data), AppendRules(), now_ms=NOW), leader_epoch=0)
    assert send(log, 1).first_offset == 4


def test_a_recompressed_batch_keeps_its_sequences(log: Log) -> None:
    rules = AppendRules(codec=Codec.GZIP)
    send(log, 0, 3, codec=Codec.LZ4, rules=rules)
    assert send(log, 0, 3, codec=Codec.LZ4, rules=rules).duplicate
    assert send(log, 3).first_offset == 3


def test_a_transaction_admits_no_batch_outside_of_it(log: Log) -> None:
    send(log, 0, transactional=True)
    refused(ErrorCode.INVALID_TXN_STATE, log, 1)
    end_transaction(log, ControlType.COMMIT)
    assert send(log, 1).first_offset == 2


def test_a_marker_with_a_higher_epoch_starts_the_sequence_anew(log: Log) -> None:
    send(log, 0, 3, transactional=True)
    end_transaction(log, ControlType.ABORT, epoch=1)
    refused(ErrorCode.INVALID_PRODUCER_EPOCH, log, 3, epoch=0)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, log, 3, epoch=1)
    assert send(log, 0, epoch=1).first_offset == 4


def test_a_marker_of_a_coordinator_that_was_replaced_is_refused(log: Log) -> None:
    end_transaction(log, ControlType.COMMIT, coordinator_epoch=5)
    with pytest.raises(ApiError) as caught:
        end_transaction(log, ControlType.COMMIT, coordinator_epoch=4)
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


@pytest.mark.parametrize("clean", [True, False], ids=["clean stop", "crash"])
def test_sequences_survive_a_restart(tmp_path: Path, clean: bool) -> None:
    log = opened(tmp_path / "orders-0")
    send(log, 0, 2)
    send(log, 2, 2, codec=Codec.LZ4)
    if clean:
        log.close()
    again = opened(tmp_path / "orders-0", clean=clean)
    refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, again, 6)
    duplicate = send(again, 2, 2, codec=Codec.LZ4)
    assert (duplicate.duplicate, duplicate.first_offset) == (True, 2)
    assert send(again, 4).first_offset == 4


def test_after_a_batch_without_an_epoch_any_sequence_is_taken(log: Log) -> None:
    send(log, 0, epoch=-1)
    assert send(log, 5, epoch=-1).first_offset == 1
    assert send(log, 9, epoch=0).first_offset == 2
