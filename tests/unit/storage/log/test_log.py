"""A log of one partition: what an append writes, what a read gives, when a segment is rolled."""

import os
from pathlib import Path

import pytest
from stepdown.protocol.errors import ApiError, DiskFault, ErrorCode
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.storage.files.files import Files
from stepdown.storage.log.log import Log
from stepdown.storage.validation.prepared_append import EMPTY_APPEND, AppendOrigin
from support.clock import ManualClock
from support.files import FaultyFiles
from support.logs import NOW, append, batch, file_names, make_log, prepared, read_all, values_of


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return make_log(tmp_path / "orders-0")


def segment_bytes(log: Log) -> bytes:
    return b"".join(Path(segment.file.path).read_bytes() for segment in log.segments)


def test_a_new_log_has_one_empty_segment(log: Log) -> None:
    assert file_names(Path(log.directory)) == [f"{0:020d}.index", f"{0:020d}.log", f"{0:020d}.timeindex"]
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (0, 0, 0)


def test_an_append_stamps_offset_and_leader_epoch_and_nothing_else(log: Log) -> None:
    append(log, b"a", b"b")
    info = append(log, b"c", leader_epoch=5)
    assert (info.first_offset, info.last_offset, info.duplicate) == (2, 2, False)
    first = batch(b"a", b"b", partition_leader_epoch=0)
    second = batch(b"c", first_offset=2, partition_leader_epoch=5)
    assert segment_bytes(log) == first + second
    assert (Path(log.directory) / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n5 2\n"


def test_an_empty_set_changes_nothing(log: Log) -> None:
    info = log.append(EMPTY_APPEND, leader_epoch=0)
    assert (info.first_offset, info.last_offset) == (-1, -1)
    assert log.log_end_offset == 0


def test_a_set_above_segment_bytes_is_refused(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=200)
    with pytest.raises(ApiError) as refused:
        append(log, 200)
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.size_bytes == 0


def test_a_full_disk_leaves_nothing_of_the_append(tmp_path: Path) -> None:
    files = FaultyFiles()
    log = make_log(tmp_path / "orders-0", files=files)
    append(log, b"kept")
    before = segment_bytes(log)
    files.space_left = 30
    with pytest.raises(DiskFault, match="No space left"):
        append(log, 100)
    assert segment_bytes(log) == before
    files.space_left = None
    append(log, b"next")
    assert values_of(read_all(log)) == [b"kept", b"next"]


def test_what_could_not_be_taken_back_is_cut_before_the_next_append(tmp_path: Path) -> None:
    files = FaultyFiles()
    log = make_log(tmp_path / "orders-0", files=files)
    files.space_left, files.fails_truncate = 90, True
    with pytest.raises(DiskFault):
        append(log, 1000)
    files.space_left, files.fails_truncate = None, False
    append(log, b"next")
    assert segment_bytes(log) == batch(b"next", partition_leader_epoch=0)


def test_a_log_that_could_not_be_synced_takes_no_more_appends(tmp_path: Path) -> None:
    files = FaultyFiles()
    log = make_log(tmp_path / "orders-0", files=files)
    append(log, b"a")
    files.fails_sync = True
    with pytest.raises(DiskFault):
        log.flush()
    assert log.recovery_point == 0
    files.fails_sync = False
    with pytest.raises(DiskFault, match="closed to writing"):
        append(log, b"b")
    assert values_of(read_all(log)) == [b"a"]


# Index entries


def test_the_first_set_gets_no_index_entry_and_bytes_before_a_set_decide(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", index_interval_bytes=100)
    sizes = []
    for _ in range(5):
        sizes.append(log.size_bytes)
        append(log, 10)  # 78 bytes
    log.close()
    index = (tmp_path / "orders-0" / f"{0:020d}.index").read_bytes()
    entries = [
        (int.from_bytes(index[at : at + 4], "big"), int.from_bytes(index[at + 4 : at + 8], "big")) for at in (0, 8)
    ]
    assert entries == [(2, sizes[2]), (4, sizes[4])]
    assert len(index) == 16


def test_an_entry_names_the_last_offset_and_the_start_of_its_set(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", index_interval_bytes=0)
    append(log, b"a")
    start = log.size_bytes
    append(log, b"b", b"c", b"d")
    assert log.segments.active.offset_index.last_entry() == (3, start)


def test_closing_writes_the_largest_timestamp_and_trims(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    append(log, b"a", b"b", timestamp=5000)
    append(log, b"c", timestamp=4000)
    log.close()
    assert (tmp_path / "orders-0" / f"{0:020d}.timeindex").read_bytes() == (5001).to_bytes(8, "big") + (1).to_bytes(
        4, "big"
    )
    assert (tmp_path / "orders-0" / f"{0:020d}.index").read_bytes() == b""


# Rolling


def test_a_segment_may_be_filled_exactly(tmp_path: Path) -> None:
    size = len(batch(b"a"))
    log = make_log(tmp_path / "orders-0", segment_bytes=2 * size)
    for _ in range(3):
        append(log, b"a")
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_event_time_rolls_a_segment(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_ms=1000)
    for timestamp in (NOW, NOW + 1000, NOW + 1001):
        append(log, b"a", timestamp=timestamp)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_without_timestamps_the_age_of_the_segment_rolls_it(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    log = make_log(tmp_path / "orders-0", clock=clock, segment_ms=1000)
    log.append_as_follower(batch(b"a", magic=0))
    clock.now += 1000
    log.append_as_follower(batch(b"a", magic=0, first_offset=1))
    clock.now += 1
    log.append_as_follower(batch(b"a", magic=0, first_offset=2))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_compacted_topic_rolls_after_its_largest_lag(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", cleanup_policy=("compact",), max_compaction_lag_ms=500)
    for timestamp in (NOW, NOW + 501):
        append(log, b"a", timestamp=timestamp)
    assert len(log.segments) == 2


@pytest.mark.parametrize(
    ("index_bytes", "ages", "entries"),
    [(35, 1, 1), (36, 1, 2), (47, 1, 2), (48, 1, 3), (39, 0, 4), (40, 0, 5)],
    ids=["one of 2 times", "two of 3 times", "no room for 4 times", "three of 4 times", "four offsets", "five offsets"],
)
def test_a_full_index_rolls_the_segment(tmp_path: Path, index_bytes: int, ages: int, entries: int) -> None:
    """The last slot of a time index is kept for the largest timestamp when the segment closes."""
    log = make_log(tmp_path / "orders-0", index_interval_bytes=0, segment_index_bytes=index_bytes)
    for n in range(entries + 2):
        append(log, b"a", timestamp=NOW + n * ages)
    assert [segment.base_offset for segment in log.segments] == [0, entries + 1]  # the first batch has no entry


def test_an_offset_too_far_from_the_base_rolls_the_segment(log: Log) -> None:
    append(log, b"a")
    log.append_as_follower(batch(b"b", first_offset=1 << 31))
    assert [segment.base_offset for segment in log.segments] == [0, 1 << 31]
    assert values_of(read_all(log)) == [b"a", b"b"]


def test_rolling_snapshots_the_producers_and_asks_for_a_flush(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=100)
    for _ in range(2):
        append(log, b"a")
    assert f"{1:020d}.snapshot" in file_names(tmp_path / "orders-0")
    log.plan_flush_of_closed_segments().run()
    assert log.recovery_point == 1


def test_jitter_rolls_earlier(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_ms=1000, segment_jitter_ms=1000)
    log.segments.active.jitter_ms = 900
    for timestamp in (NOW, NOW + 101):
        append(log, b"a", timestamp=timestamp)
    assert len(log.segments) == 2


# Reading


def test_a_slice_begins_with_the_batch_that_contains_the_offset(log: Log) -> None:
    append(log, b"a", b"b", b"c")
    append(log, b"d")
    found = log.read(1, 1 << 20, below=4)
    assert (found.position, found.size_bytes) == (0, log.size_bytes)
    assert log.read(3, 1 << 20, below=4).position == len(batch(b"a", b"b", b"c"))


@pytest.mark.parametrize("offset", [-1, 4])
def test_outside_of_the_log_is_out_of_range(log: Log, offset: int) -> None:
    append(log, b"a", b"b", b"c")
    with pytest.raises(ApiError) as refused:
        log.read(offset, 100, below=3)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_end_and_what_is_not_visible_is_empty(log: Log) -> None:
    append(log, b"a")
    append(log, b"b")
    assert log.read(2, 100, below=2).size_bytes == 0
    assert log.read(1, 100, below=1).size_bytes == 0
    assert log.read(0, 1000, below=1).size_bytes == len(batch(b"a"))
    assert log.read(0, 1000, below=0).size_bytes == 0


def test_limits_cut_a_batch_or_give_it_whole_or_give_nothing(log: Log) -> None:
    append(log, 1000)
    append(log, 10)
    whole = len(batch(1000))
    assert log.read(0, 100, below=2).size_bytes == 0
    assert log.read(0, 100, below=2, allow_partial=True).size_bytes == 100
    assert log.read(0, 100, below=2, min_one_message=True).size_bytes == whole
    assert log.read(0, whole + 20, below=2).size_bytes == whole + 20
    assert log.read(0, 0, below=2).size_bytes == 0


def test_a_gap_between_batches_is_read_over(log: Log) -> None:
    append(log, b"a")
    log.append_as_follower(batch(b"b", first_offset=10))
    assert values_of(read_all(log, 3)) == [b"b"]


def test_a_gap_at_the_end_of_a_segment_leads_to_the_next(log: Log) -> None:
    append(log, b"a")
    log.append_as_follower(batch(b"b", first_offset=(1 << 31) + 5))
    found = log.read(1, 1000, below=log.log_end_offset)
    assert found.segment_base_offset == (1 << 31) + 5


def test_every_offset_is_found_in_a_log_of_many_segments(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=3000, index_interval_bytes=200)
    for n in range(300):
        append(log, b"%d" % n, b"x" * (n % 50))
    assert len(log.segments) > 10
    for offset in range(600):
        first = next(read_all(log, offset))
        assert first.offset == offset


def test_a_slice_survives_the_deletion_of_its_file(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", files=Files(max_open=1), retention_ms=0)
    append(log, b"a" * 100, timestamp=1)
    found = log.read(0, 1000, below=1)
    assert log.delete_old_segments(NOW) == 1
    log._deletions.delete_due(NOW + 60_000)
    assert found.read(0, 1000) == batch(b"a" * 100, timestamp=1, partition_leader_epoch=0)
    assert found.read(3, 10) == found.read(0, 1000)[3:13]
    assert os.fstat(found.fileno()).st_nlink == 0


def test_a_truncated_file_is_a_fault_not_a_wrong_answer(log: Log) -> None:
    append(log, b"a")
    append(log, b"b")
    os.truncate(log.segments.active.file.path, 80)
    log.segments.active._last_append = None
    with pytest.raises(ApiError) as fault:
        log.read(1, 1000, below=2)
    assert fault.value.code is ErrorCode.CORRUPT_MESSAGE


# Old magics


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_message_sets_of_old_brokers_are_appended_and_read(log: Log, magic: int, codec: Codec) -> None:
    append(log, b"a")
    assert log.epochs.latest == 0
    log.append_as_follower(batch(b"b", b"c", first_offset=1, magic=magic, codec=codec))
    assert log.log_end_offset == 3
    assert values_of(read_all(log)) == [b"a", b"b", b"c"]
    assert log.epochs.latest == -1  # KIP-101: such batches carry no epochs


def test_offsets_given_from_outside_must_ascend(log: Log) -> None:
    append(log, b"a", b"b")
    for data in (batch(b"c", first_offset=1), batch(b"c", first_offset=2) + batch(b"d", first_offset=2)):
        with pytest.raises(ApiError) as refused:
            log.append_as_follower(data)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.log_end_offset == 2


# Transactions


def transactional(log: Log, producer_id: int, sequence: int, *values: bytes) -> None:
    append(log, *values, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)


def marker(log: Log, producer_id: int, kind: ControlType, coordinator_epoch: int = 0) -> None:
    data = build_control_marker(
        kind, offset=0, producer_id=producer_id, producer_epoch=0, coordinator_epoch=coordinator_epoch,
        timestamp=NOW, partition_leader_epoch=0,
    )  # fmt: skip
    log.append(prepared(data, origin=AppendOrigin.COORDINATOR), leader_epoch=0)


def test_an_open_transaction_holds_the_stable_offset_back(log: Log) -> None:
    append(log, b"a")
    transactional(log, 7, 0, b"b", b"c")
    transactional(log, 8, 0, b"d")
    assert log.first_unstable_offset == 1
    marker(log, 7, ControlType.COMMIT)
    assert log.first_unstable_offset == 1  # decided, not replicated yet
    log.note_high_watermark(5)
    assert log.first_unstable_offset == 3
    marker(log, 8, ControlType.ABORT)
    log.note_high_watermark(6)
    assert log.first_unstable_offset is None


def test_a_fetch_hears_of_the_aborted_transactions_it_touches(log: Log) -> None:
    transactional(log, 7, 0, b"a")
    transactional(log, 8, 0, b"b")
    marker(log, 7, ControlType.ABORT)
    marker(log, 8, ControlType.COMMIT)
    append(log, b"c")
    everything = log.read(0, 1 << 20, below=5)
    assert log.aborted_transactions(0, everything) == [(7, 0)]
    assert log.aborted_transactions(4, log.read(4, 1 << 20, below=5)) == []
    assert (Path(log.directory) / f"{0:020d}.txnindex").stat().st_size == 34


def test_a_plain_batch_inside_a_transaction_is_refused(log: Log) -> None:
    transactional(log, 7, 0, b"a")
    with pytest.raises(ApiError) as refused:
        append(log, b"b", producer_id=7, producer_epoch=0, base_sequence=1)
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE


def test_an_older_coordinator_is_fenced(log: Log) -> None:
    transactional(log, 7, 0, b"a")
    marker(log, 7, ControlType.COMMIT, coordinator_epoch=3)
    transactional(log, 7, 1, b"b")
    with pytest.raises(ApiError) as refused:
        marker(log, 7, ControlType.COMMIT, coordinator_epoch=2)
    assert refused.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_transactions_survive_a_restart(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0")
    transactional(log, 7, 0, b"a")
    transactional(log, 8, 0, b"b")
    marker(log, 7, ControlType.ABORT)
    for clean in (True, False):
        log.close()
        log = make_log(tmp_path / "orders-0", clean=clean)
        log.note_high_watermark(3)
        assert log.first_unstable_offset == 1
        assert log.aborted_transactions(0, log.read(0, 1 << 20, below=3)) == [(7, 0)]


# Flushing


def test_so_many_messages_are_flushed_at_once(tmp_path: Path) -> None:
    files = FaultyFiles()
    log = make_log(tmp_path / "orders-0", files=files, flush_messages=3)
    append(log, b"a", b"b")
    assert (log.recovery_point, files.syncs) == (0, 0)
    append(log, b"c")
    assert log.recovery_point == 3
    assert files.syncs


def test_a_planned_flush_covers_what_was_there_when_it_was_planned(log: Log) -> None:
    append(log, b"a")
    flush = log.plan_flush()
    append(log, b"b")
    flush.run()
    assert log.recovery_point == 1


def test_a_flush_passes_over_a_segment_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    log = make_log(tmp_path / "orders-0", retention_ms=0)
    append(log, b"a", timestamp=1)
    flush = log.plan_flush()
    log.delete_old_segments(NOW)
    log._deletions.delete_due(NOW + 60_000)
    flush.run()
    assert log.fault is None
    assert log.recovery_point == 1


# Truncation


@pytest.mark.parametrize("offset", [0, 1, 3, 4, 7, 10, 11])
def test_truncating_drops_the_batch_that_contains_the_offset_and_all_after(tmp_path: Path, offset: int) -> None:
    log = make_log(tmp_path / "orders-0", segment_bytes=200, index_interval_bytes=0)
    for n in range(0, 10, 2):
        append(log, b"%d" % n, b"%d" % (n + 1), leader_epoch=n)
    log.flush()
    log.truncate_to(offset)
    end = min(offset, 10)
    kept = end // 2 * 2
    assert log.log_end_offset == end
    assert log.recovery_point == end
    assert values_of(read_all(log)) == [b"%d" % n for n in range(kept)]
    assert all(entry.start_offset < end for entry in log.epochs.entries)
    append(log, b"new", leader_epoch=20)
    assert values_of(read_all(log)) == [b"%d" % n for n in range(kept)] + [b"new"]
