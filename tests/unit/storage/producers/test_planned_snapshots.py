"""A log that 40,000 producers had written to held the loop for 25 ms when a segment began: their snapshot was encoded
with the append. Where there are many, a flush does that in a worker thread.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.storage.log.log import Log
from stepdown.storage.producers import producer_tracking
from stepdown.storage.producers.producer_snapshot import decode_snapshot
from support.logs import append, make_log

PRODUCERS = range(1, 4)


def send(log: Log, sequence: int) -> None:
    for producer in PRODUCERS:
        append(log, b"v", producer_id=producer, producer_epoch=0, base_sequence=sequence)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    """It has begun its second segment, at offset 3, and appended to it."""
    monkeypatch.setattr(producer_tracking, "MOST_AT_ONCE", len(PRODUCERS) - 1)
    log = make_log(tmp_path / "orders-0")
    send(log, 0)
    log.roll()
    assert not log.producers.snapshots.offsets
    send(log, 1)
    return log


def test_the_snapshot_is_of_the_offset_where_the_segment_began(log: Log) -> None:
    flush = log.plan_flush_of_closed_segments()
    send(log, 2)
    flush.run()
    send(log, 3)
    flush.write_producer_snapshot()
    path = log.producers.snapshots.path(3)
    found = decode_snapshot(Path(path).read_bytes(), path)
    assert [(each.producer_id, each.last_sequence, each.last_data_offset) for each in found] == [
        (1, 0, 0),
        (2, 0, 1),
        (3, 0, 2),
    ]
    assert log.producers.snapshots.offsets == [3]
    assert {each.last_sequence for each in log.producers.state.producers.values()} == {3}


@pytest.mark.parametrize(
    "happens",
    [
        lambda log: log.truncate_to(1),
        lambda log: log.truncate_fully_and_start_at(100),
        lambda log: log.close_after_deletion(),
    ],
    ids=["is shortened", "begins elsewhere", "is deleted"],
)
def test_no_snapshot_is_written_of_a_log_that_meanwhile(log: Log, happens: Callable[[Log], None]) -> None:
    flush = log.plan_flush()
    flush.run()
    happens(log)
    flush.write_producer_snapshot()
    assert not log.producers.snapshots.offsets


def test_a_plan_is_void_when_the_log_is_shortened(log: Log) -> None:
    log.truncate_to(1)
    log.flush()
    assert not log.producers.snapshots.offsets


def test_without_a_snapshot_the_batches_are_read_again(log: Log, tmp_path: Path) -> None:
    log.flush()
    assert log.producers.snapshots.offsets == [3]
    log.roll()
    send(log, 2)
    log.release()
    again = make_log(tmp_path / "orders-0", clean=False)
    known = again.producers.state.producers.values()
    assert [(each.producer_id, each.last_sequence) for each in known] == [(each, 2) for each in PRODUCERS]
