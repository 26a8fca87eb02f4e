"""What read_committed leaves out, told by indexes and snapshots, or by markers where those are missing."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.pipeline.reading.transactions import log_transactions
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.columns import WantedRows
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.storage.index.transaction_index import AbortedTransaction
from stepdown.storage.producers.producer_snapshot import encode_snapshot
from stepdown.storage.producers.producer_states import ProducerEntry
from support.log_directories import keyed_records
from support.segments import START_MS, write_segment

FILES = PlaceFiles()
TOPIC = "topic"
_Batch = tuple[bytes, int]


def data(producer_id: int, first: int, *, transactional: bool = True, codec: Codec = Codec.NONE) -> _Batch:
    """Three records of a producer."""
    fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0, "transactional": transactional}
    return build_batch(keyed_records(first, 3), codec=codec, **fields), first + 2  # type: ignore[arg-type]


def marker(kind: ControlType, producer_id: int, offset: int) -> _Batch:
    built = build_control_marker(
        kind, offset=offset, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=START_MS + offset
    )
    return built, offset


FIRST = [
    data(1, 0, codec=Codec.LZ4),
    data(2, 3),
    marker(ControlType.COMMIT, 1, 6),
    data(1, 7),
    data(2, 10, codec=Codec.ZSTD),
]
"""What producer 1 does from offset 7 on, and 2 from 3 on, ends in the next segment."""
SECOND = [
    data(3, 13, transactional=False),
    marker(ControlType.ABORT, 2, 16),
    data(2, 17),
    marker(ControlType.ABORT, 1, 20),
    marker(ControlType.COMMIT, 2, 21),
    data(4, 22),
    data(3, 25, transactional=False),
]
COMMITTED = [0, 1, 2, 13, 14, 15, 17, 18, 19]
ABORTED = [AbortedTransaction(2, 3, 16, 3), AbortedTransaction(1, 7, 20, 7)]


def write(log_dir: Path, base: int, batches: Sequence[_Batch]) -> Path:
    built, lasts = zip(*batches, strict=True)
    return write_segment(log_dir / f"{TOPIC}-0", built, lasts, base).log


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """Two segments with all indexes, as a broker leaves them that stopped before the last batch."""
    write(tmp_path, 0, FIRST)
    second = write(tmp_path, 13, SECOND)
    entries = [(each.producer_id, *each[1:]) for each in ABORTED]
    second.with_suffix(".txnindex").write_bytes(
        b"".join(b"\0\0" + b"".join(value.to_bytes(8, "big") for value in entry) for entry in entries)
    )
    snapshot(second.parent, 25, {4: 22})
    return tmp_path


def snapshot(folder: Path, offset: int, opened: dict[int, int]) -> None:
    entries = [
        ProducerEntry(
            producer, epoch=0, coordinator_epoch=0, last_timestamp=0, transaction_first_offset=first, batches=[]
        )
        for producer, first in opened.items()
    ]
    (folder / f"{offset:020d}.snapshot").write_bytes(encode_snapshot(entries))


def committed(log_dir: Path, *, split_bytes: int = 1 << 20, first: int = 0) -> list[int]:
    (log,) = find_partition_logs(FILES, str(log_dir))
    found = log_transactions(FILES, log)
    wanted = OffsetsToRead(first=first, end=found.last_stable_offset, aborted=found.aborted)
    offsets: list[int] = []
    for split in SplitPlanner(FILES, split_bytes).plan_splits(log, wanted):
        asked = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset)
        for columns in SplitRows(FILES, split, asked, DamagePolicy()):
            offsets += np.frombuffer(columns.offsets_buffer, np.int64, columns.rows).tolist()
    return offsets


def remove(log_dir: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        for path in log_dir.rglob(f"*{suffix}"):
            path.unlink()


@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_aborted_and_open_transactions_are_left_out(log_dir: Path, split_bytes: int) -> None:
    assert committed(log_dir, split_bytes=split_bytes) == COMMITTED
    assert committed(log_dir, split_bytes=split_bytes, first=14) == COMMITTED[4:]


@pytest.mark.parametrize(
    "missing",
    [(".snapshot",), (".txnindex", ".snapshot"), (".index", ".timeindex", ".txnindex", ".snapshot")],
)
def test_markers_tell_what_indexes_and_snapshots_do_not(log_dir: Path, missing: Iterable[str]) -> None:
    remove(log_dir, *missing)
    assert committed(log_dir) == COMMITTED


def test_a_broken_snapshot_is_passed_over(log_dir: Path) -> None:
    (path,) = log_dir.rglob("*.snapshot")
    path.write_bytes(b"\0" + path.read_bytes()[:-1])
    assert committed(log_dir) == COMMITTED


def test_a_snapshot_behind_the_end_of_the_log_is_passed_over(log_dir: Path) -> None:
    """A broker that lost the end of its log would start from an older one."""
    snapshot(log_dir / f"{TOPIC}-0", 99, {})
    assert committed(log_dir) == COMMITTED


def test_a_log_without_open_transactions_is_read_to_its_end(tmp_path: Path) -> None:
    write(tmp_path, 0, [*FIRST[:3], marker(ControlType.ABORT, 2, 7), data(3, 8, transactional=False)])
    remove(tmp_path, ".index", ".timeindex")
    assert committed(tmp_path) == [0, 1, 2, 8, 9, 10]
    (log,) = find_partition_logs(FILES, str(tmp_path))
    assert log_transactions(FILES, log).last_stable_offset == 11


def test_a_batch_that_is_broken_is_not_hidden_by_an_aborted_one_beside_it(log_dir: Path) -> None:
    first = min(log_dir.rglob("*.log"))
    content = bytearray(first.read_bytes())
    content[len(FIRST[0][0]) - 1] ^= 1  # of the batch before the aborted ones
    first.write_bytes(content)
    with pytest.raises(Exception, match="position 0, base offset 0"):
        committed(log_dir)
