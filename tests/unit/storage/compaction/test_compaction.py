"""Cleaning a log: what stays, under which names, and what a crash leaves."""

import sys
from pathlib import Path

import pytest
from stepdown.network.turn import Turns
from stepdown.protocol.errors import CorruptRecord, DiskFault
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.compaction.compaction import Compaction, SegmentExchange
from stepdown.storage.compaction.segment_replacement import swap_in
from stepdown.storage.log.log import Log
from stepdown.storage.validation.prepared_append import AppendOrigin
from support.clock import ManualClock
from support.compaction import clean, limits, part
from support.files import FaultyFiles, flip_bit
from support.logs import NOW, file_names, make_log, prepared, read_all
from support.loop_calls import Calls

DAY_MS = 86_400_000
Pair = tuple[bytes | None, bytes | None]


def compacted(directory: Path, **config: object) -> Log:
    return make_log(directory, cleanup_policy=("compact",), **config)  # type: ignore[arg-type]


def put(log: Log, *pairs: Pair, timestamp: int = NOW, **fields: object) -> int:
    """The first offset of one batch of these keys and values."""
    records = [
        Record(offset=n, timestamp=timestamp, key=key, value=value, headers=(("h", b"x"),))
        for n, (key, value) in enumerate(pairs)
    ]
    data = build_batch(records, **fields)  # type: ignore[arg-type]
    return log.append(prepared(data), leader_epoch=0).first_offset


def end_transaction(log: Log, producer_id: int, *, commit: bool, epoch: int = 0) -> None:
    data = build_control_marker(
        ControlType.COMMIT if commit else ControlType.ABORT,
        offset=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=0,
        timestamp=NOW,
    )
    log.append(prepared(data, origin=AppendOrigin.COORDINATOR), leader_epoch=0)
    log.note_high_watermark(log.log_end_offset)


def left(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of what a reader finds below the active segment, without markers."""
    end = log.segments.active.base_offset
    return [
        (record.offset, record.key and bytes(record.key), None if record.value is None else bytes(record.value))
        for segment in log.segments
        if segment.base_offset < end
        for batch in iter_batches(segment.file.read(segment.size, 0))
        if not batch.is_control
        for record in batch.records()
    ]


def test_the_last_record_of_each_key_stays_at_its_offset(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", b"2"), (b"c", b"1"))
    log.roll()
    put(log, (b"b", b"9"))
    work = clean(log)
    assert left(log) == [(1, b"b", b"1"), (2, b"a", b"2"), (3, b"c", b"1")]
    assert [record.offset for record in read_all(log)] == [1, 2, 3, 4]
    assert (work.clean_end, log.log_end_offset) == (4, 5)
    assert (work.records_read, work.records_kept) == (4, 3)


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches_stay_compressed(tmp_path: Path, codec: Codec) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1" * 500), codec=codec)
    put(log, (b"a", b"2"), codec=codec)
    log.roll()
    clean(log)
    assert [(offset, key) for offset, key, _ in left(log)] == [(1, b"b"), (2, b"a")]
    segment = log.segments[0]
    assert {batch.codec for batch in iter_batches(segment.file.read(segment.size, 0))} == {codec}


def test_what_was_cleaned_goes_on_where_it_was_after_a_restart(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"a", b"2"))
    log.roll()
    put(log, (b"a", b"3"))
    clean(log)
    log.close()
    again = compacted(tmp_path)
    assert [record.offset for record in read_all(again)] == [1, 2]
    assert again.log_end_offset == 3
    assert not [name for name in file_names(tmp_path) if name.endswith((".cleaned", ".swap"))]


def test_small_segments_become_one(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    for number in range(6):
        put(log, (b"%d" % (number % 2), b"x"))
        log.roll()
    assert len(log.segments) == 7
    clean(log)
    assert [segment.base_offset for segment in log.segments] == [0, 6]
    assert [offset for offset, _, _ in left(log)] == [4, 5]


def test_groups_are_no_larger_than_a_segment(tmp_path: Path) -> None:
    log = compacted(tmp_path, segment_bytes=300)
    for number in range(8):
        put(log, (b"%d" % number, b"x" * 40))
    before = sum(segment.size for segment in log.segments)
    clean(log)
    assert sum(segment.size for segment in log.segments) == before
    assert max(segment.size for segment in log.segments) <= 300
    assert len(log.segments) > 2


def test_the_last_segment_and_what_is_not_stable_are_left_alone(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"))
    log.roll()
    put(log, (b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    log.roll()
    put(log, (b"a", b"3"))
    log.roll()
    what = part(log)
    assert (what.first_dirty, what.end) == (0, 1)
    end_transaction(log, 7, commit=True)
    assert part(log).end == 3


def test_young_segments_wait_for_their_lag(tmp_path: Path) -> None:
    log = compacted(tmp_path, min_compaction_lag_ms=1000)
    put(log, (b"a", b"1"), timestamp=NOW - 5000)
    log.roll()
    put(log, (b"a", b"2"), timestamp=NOW - 500)
    log.roll()
    assert part(log, now_ms=NOW).end == 1
    assert part(log, now_ms=NOW + 501).end == 2


def test_a_log_is_due_by_its_dirty_ratio_or_its_age(tmp_path: Path) -> None:
    log = compacted(tmp_path, min_cleanable_dirty_ratio=0.5, max_compaction_lag_ms=DAY_MS)
    put(log, (b"a", b"1" * 100))
    log.roll()
    put(log, (b"b", b"1"))
    log.roll()
    assert part(log).is_due
    assert not part(log, checkpoint=1).is_due
    assert part(log, checkpoint=1, now_ms=NOW + DAY_MS + 1).is_due
    assert not part(log, checkpoint=2, now_ms=NOW + DAY_MS + 1).is_due


def test_a_checkpoint_outside_the_log_means_that_all_is_dirty(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"))
    log.roll()
    assert part(log, checkpoint=77).first_dirty == 0


def test_a_tombstone_stays_for_its_time_and_then_goes(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    log = compacted(tmp_path, clock=clock, delete_retention_ms=DAY_MS)
    put(log, (b"a", b"1"))
    put(log, (b"a", None))
    log.roll()
    clean(log)
    assert left(log) == [(1, b"a", None)]
    clean(log, None, NOW + DAY_MS - 1)
    assert left(log) == [(1, b"a", None)]
    clean(log, None, NOW + DAY_MS)
    assert left(log) == []


def test_what_was_aborted_goes_and_does_not_count(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    end_transaction(log, 7, commit=False)
    put(log, (b"b", b"2"), producer_id=7, producer_epoch=0, base_sequence=1, transactional=True)
    end_transaction(log, 7, commit=True)
    log.roll()
    clean(log)
    assert left(log) == [(0, b"a", b"1"), (4, b"b", b"2")]


def test_an_abort_marker_stays_until_its_data_is_gone_and_its_time_has_come(tmp_path: Path) -> None:
    log = compacted(tmp_path, delete_retention_ms=DAY_MS)
    put(log, (b"a", b"2"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    end_transaction(log, 7, commit=False)
    put(log, (b"z", b"1"), producer_id=7, producer_epoch=0, base_sequence=1)
    log.roll()

    def markers() -> list[int | None]:
        segment = log.segments[0]
        batches = iter_batches(segment.file.read(segment.size, 0))
        return [batch.delete_horizon_ms for batch in batches if batch.is_control]

    clean(log)
    assert markers() == [None]
    assert [each.first_offset for each in log.segments[0].ensure_transaction_index().entries()] == [0]
    clean(log, None, NOW + 1)
    assert markers() == [NOW + 1 + DAY_MS]
    assert log.segments[0].transaction_index is None
    clean(log, None, NOW + DAY_MS)
    assert len(markers()) == 1
    clean(log, None, NOW + 1 + DAY_MS)
    assert markers() == []


def test_the_last_batch_of_a_producer_stays_if_need_be_empty(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"), producer_id=7, producer_epoch=3, base_sequence=10, timestamp=NOW - 9)
    put(log, (b"a", b"2"), (b"b", b"2"))
    log.roll()
    clean(log)
    segment = log.segments[0]
    first = next(iter(iter_batches(segment.file.read(segment.size, 0))))
    assert (first.record_count, first.size_bytes, first.last_offset) == (0, 61, 1)
    assert (first.base_sequence, first.last_sequence, first.max_timestamp) == (10, 11, NOW - 9)
    first.ensure_valid()
    log.close()
    for snapshot in tmp_path.glob("*.snapshot"):
        snapshot.unlink()
    again = compacted(tmp_path, clean=False)
    entry = again.producers.state.producers[7]
    assert (entry.epoch, entry.last_sequence, entry.last_data_offset) == (3, 11, 1)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_messages_of_old_magics_are_cleaned_too(tmp_path: Path, magic: int, codec: Codec) -> None:
    log = compacted(tmp_path)

    def messages(first: int, *pairs: Pair) -> bytes:
        records = [
            Record(offset=first + n, timestamp=NOW if magic else -1, key=key, value=value)
            for n, (key, value) in enumerate(pairs)
        ]
        return build_batch(records, magic=magic, codec=codec)

    log.append_as_follower(messages(0, (b"a", b"1"), (b"b", b"1"), (b"c", b"1")))
    log.append_as_follower(messages(3, (b"a", b"2"), (b"c", None)))
    log.roll()
    clean(log)
    assert left(log) == [(1, b"b", b"1"), (3, b"a", b"2"), (4, b"c", None)]
    again = [record.offset for record in read_all(log)]
    assert again == [1, 3, 4]


def test_a_full_map_leaves_the_rest_for_the_next_time(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    for number in range(60):
        put(log, (b"%d" % (number % 30), b"%d" % number))
    log.roll()
    first = clean(log, allowed=limits(map_bytes=24 * 20, load_factor=0.5))
    assert first.clean_end == 10
    assert [offset for offset, _, _ in left(log)] == list(range(60))
    checkpoint = first.clean_end
    while checkpoint < 60:
        work = clean(log, checkpoint, allowed=limits(map_bytes=24 * 20, load_factor=0.5))
        assert work.clean_end == min(60, checkpoint + 10)
        checkpoint = work.clean_end
    assert [offset for offset, _, _ in left(log)] == list(range(30, 60))


def test_a_batch_larger_than_the_buffers_is_cleaned(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"x" * 300_000), (b"b", b"y" * 300_000))
    put(log, (b"a", b"z"))
    log.roll()
    clean(log, allowed=limits(io_bytes=1000))
    assert [(offset, key) for offset, key, _ in left(log)] == [(1, b"b"), (2, b"a")]


def test_append_times_and_the_time_index_stay_right(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    for number in range(5):
        put(
            log,
            (b"a", b"%d" % number),
            (b"k%d" % number, b"1"),
            timestamp_type=TimestampType.LOG_APPEND_TIME,
            log_append_time=NOW + number,
        )
    log.roll()
    clean(log)
    found = log.offset_for_timestamp(NOW + 3)
    assert found is not None
    assert (found.offset, found.timestamp) == (7, NOW + 3)
    assert log.segments[0].largest_timestamp() == NOW + 4


def test_the_age_of_a_cleaned_segment_is_that_of_what_it_replaces(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"))
    log.roll()
    log.files.set_mtime_ms(log.segments[0].file.path, NOW - DAY_MS)
    clean(log)
    assert log.files.mtime_ms(log.segments[0].file.path) == NOW - DAY_MS


def test_damage_stops_the_cleaning_and_leaves_all_as_it_was(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"a", b"2"))
    log.roll()
    path = Path(log.segments[0].file.path)
    flip_bit(path, 8 * (path.stat().st_size - 3))
    damaged = path.read_bytes()
    with pytest.raises(CorruptRecord, match="offset 0"):
        clean(log)
    assert path.read_bytes() == damaged
    assert not [name for name in file_names(tmp_path) if name.endswith(".cleaned")]


def test_a_full_disk_stops_the_cleaning_and_not_the_log(tmp_path: Path) -> None:
    files = FaultyFiles()
    log = compacted(tmp_path, files=files)
    put(log, (b"a", b"1" * 1000), (b"b", b"2" * 1000))
    log.roll()
    files.space_left = 100
    with pytest.raises(DiskFault, match="No space"):
        clean(log)
    files.space_left = None
    assert log.fault is None
    put(log, (b"a", b"3"))
    assert [record.offset for record in read_all(log)] == [0, 1, 2]


def test_nothing_is_exchanged_when_the_log_lost_a_segment_meanwhile(tmp_path: Path) -> None:
    log = compacted(tmp_path)
    put(log, (b"a", b"1"), (b"a", b"2"))
    log.roll()
    put(log, (b"b", b"1"))
    for step in Compaction(part(log), limits(), NOW).steps():
        if isinstance(step, SegmentExchange):
            log.remove_and_delete_segments([log.segments[0]])
            assert not swap_in(log, step.cleaned, step.replaced, NOW)
    assert [segment.base_offset for segment in log.segments] == [2]
    assert not [name for name in file_names(tmp_path) if name.endswith((".cleaned", ".swap"))]


def test_a_cleaning_that_begins_only_copies_the_list_of_producers(tmp_path: Path) -> None:
    """It held the loop for 0.12 s where 40,000 producers had written: what is known of each was copied at once."""
    log, many = compacted(tmp_path), 1_000
    for number in range(many):
        log.producers.state.add_batch(
            number, 0, 0, first_offset=0, last_offset=0, timestamp=NOW, is_transactional=False
        )
    calls = Calls(Turns())
    sys.setprofile(calls.note)
    try:
        work = Compaction(part(log), limits(), NOW)
    finally:
        sys.setprofile(None)
    assert calls.count < many
    assert len(work._cleaning_terms.producers) == many
