"""Checkpoints, leader epochs, topic ids, meta.properties and producer snapshots, byte for byte."""

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from stepdown.storage.files.checkpoint_file import MalformedCheckpoint, read_offsets, write_offsets
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import read_topic_id, write_topic_id
from stepdown.storage.log.leader_epochs import EpochEntry, LeaderEpochs
from stepdown.storage.producers.producer_snapshot import CorruptSnapshot, Snapshots, decode_snapshot, encode_snapshot
from stepdown.storage.producers.producer_states import BatchSequence, ProducerEntry
from support.deadline import DEADLINE_S, MOMENT_S

TOPIC_ID = UUID("436c7a4e-a0af-4352-893e-0307916b1357")


@pytest.fixture
def files() -> Files:
    return Files()


def test_a_checkpoint_is_lines_of_text(files: Files, tmp_path: Path) -> None:
    path = str(tmp_path / "recovery-point-offset-checkpoint")
    write_offsets(files, path, {("a-b.c", 0): 12, ("d", 11): 0})
    assert Path(path).read_text() == "0\n2\na-b.c 0 12\nd 11 0\n"
    assert read_offsets(files, path) == {("a-b.c", 0): 12, ("d", 11): 0}
    assert [entry.name for entry in tmp_path.iterdir()] == ["recovery-point-offset-checkpoint"]


@pytest.mark.parametrize("text", ["", None], ids=["empty", "missing"])
def test_no_checkpoint_is_no_entries(files: Files, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "c").write_text(text)
    assert read_offsets(files, str(tmp_path / "c")) == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1\n0\n", "line 1 should be the version 0"),
        ("0\n", "line 2 should be the number"),
        ("0\nx\n", "line 2 should be the number"),
        ("0\n2\na 0 1\n", "2 entries expected, found 1"),
        ("0\n0\na 0 1\n", "0 entries expected, found 1"),
        ("0\n1\na 0\n", "line 3 should be"),
        ("0\n1\na zero 1\n", "line 3 should be"),
        ("0\n1\na b 0 1\n", "line 3 should be"),
        ("\x00\x00\x00", "line 1"),
    ],
)
def test_a_malformed_checkpoint_tells_its_line(files: Files, tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "c").write_text(text)
    with pytest.raises(MalformedCheckpoint, match=complaint):
        read_offsets(files, str(tmp_path / "c"))


def epochs(tmp_path: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    known = LeaderEpochs(Files(), str(tmp_path))
    for entry in entries:
        known.assign(*entry)
    return known


def test_epochs_are_a_checkpoint_of_epoch_and_start(tmp_path: Path) -> None:
    epochs(tmp_path, (0, 0), (3, 100))
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 100\n"
    assert epochs(tmp_path).entries == [EpochEntry(0, 0), EpochEntry(3, 100)]


def test_an_epoch_removes_those_it_contradicts(tmp_path: Path) -> None:
    assert epochs(tmp_path, (0, 0), (3, 100), (5, 200), (4, 150)).entries == [(0, 0), (3, 100), (4, 150)]


def test_the_same_epoch_again_changes_nothing(tmp_path: Path) -> None:
    known = epochs(tmp_path, (2, 10))
    assert not known.assign(2, 20)
    assert known.entries == [(2, 10)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (0, (0, 50)), (1, (1, 50)), (2, (2, 100)), (3, (2, 100)), (5, (5, 300)), (6, (-1, -1))],
)
def test_an_epoch_ends_where_the_next_one_begins(tmp_path: Path, asked: int, answer: tuple[int, int]) -> None:
    known = epochs(tmp_path, (2, 50), (5, 100))
    assert known.end_offset_for(asked, log_end_offset=300) == answer


def test_epochs_are_cut_with_the_log_at_both_ends(tmp_path: Path) -> None:
    known = epochs(tmp_path, (1, 0), (2, 50), (5, 100))
    known.truncate_from_end(100)
    assert known.entries == [(1, 0), (2, 50)]
    known.truncate_from_start(60)
    assert known.entries == [(2, 60)]
    known.clear()
    assert known.latest == -1
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n0\n"


def test_the_epoch_of_an_offset_is_the_last_that_began(tmp_path: Path) -> None:
    known = epochs(tmp_path, (2, 50), (5, 100))
    assert [known.epoch_at(offset) for offset in (49, 50, 99, 100, 1000)] == [-1, 2, 2, 5, 5]


def test_unreadable_epochs_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("garbage")
    assert epochs(tmp_path).entries == []


def test_partition_metadata_is_two_lines_without_a_last_newline(files: Files, tmp_path: Path) -> None:
    write_topic_id(files, str(tmp_path), TOPIC_ID)
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: Q2x6TqCvQ1KJPgMHkWsTVw"
    assert read_topic_id(files, str(tmp_path)) == TOPIC_ID


@pytest.mark.parametrize("text", ["", "version: 1\ntopic_id: Q2x6TqCvQ1KJPgMHkWsTVw", "version: 0\ntopic_id: Q2x6"])
def test_wrong_partition_metadata_is_a_disk_fault(files: Files, tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(DiskFault, match=r"partition\.metadata"):
        read_topic_id(files, str(tmp_path))


def test_both_versions_of_meta_properties_are_read(files: Files, tmp_path: Path) -> None:
    assert read_meta_properties(files, str(tmp_path)) is None
    (tmp_path / "meta.properties").write_text("#\n#Fri Jan 01\ncluster.id=abc\nbroker.id=3\nversion=0\n")
    assert read_meta_properties(files, str(tmp_path)) == MetaProperties(version=0, node_id=3, cluster_id="abc")
    (tmp_path / "meta.properties").write_text(
        "version=1\nnode.id=4\ncluster.id=x_Y-z\ndirectory.id=Q2x6TqCvQ1KJPgMHkWsTVw\n"
    )
    assert read_meta_properties(files, str(tmp_path)) == MetaProperties(
        version=1, node_id=4, cluster_id="x_Y-z", directory_id=TOPIC_ID
    )


def test_what_is_written_is_version_1(files: Files, tmp_path: Path) -> None:
    written = MetaProperties(version=1, node_id=1, cluster_id="abc", directory_id=TOPIC_ID)
    write_meta_properties(files, str(tmp_path), written)
    assert read_meta_properties(files, str(tmp_path)) == written


@pytest.mark.parametrize("text", ["", "version=2\n", "version=1\nnode.id=1\n", "version=1\nnode.id=x\ncluster.id=c\n"])
def test_wrong_meta_properties_are_a_disk_fault(files: Files, tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(DiskFault, match=r"meta\.properties"):
        read_meta_properties(files, str(tmp_path))


def entry() -> ProducerEntry:
    return ProducerEntry(
        5, epoch=2, coordinator_epoch=3, last_timestamp=1000, transaction_first_offset=40,
        batches=[BatchSequence(6, 41, 0, 900), BatchSequence(9, 44, 2, 1000)],
    )  # fmt: skip


def test_a_snapshot_has_the_last_batch_of_each_producer() -> None:
    data = encode_snapshot([entry()])
    assert data[:2] == b"\x00\x01"
    assert data[6:].hex(" ") == (
        "00 00 00 01 00 00 00 00 00 00 00 05 00 02 00 00 00 09 00 00 00 00 00 00 00 2c 00 00 00 02 "
        "00 00 00 00 00 00 03 e8 00 00 00 03 00 00 00 00 00 00 00 28"
    )
    (read,) = decode_snapshot(data, "s")
    assert (read.producer_id, read.epoch, read.last_sequence, read.coordinator_epoch) == (5, 2, 9, 3)
    assert (read.transaction_first_offset, read.batches) == (40, [BatchSequence(9, 44, 2, 1000)])


@pytest.mark.parametrize("at", [1, 3, 8, 20, 55])
def test_a_snapshot_with_a_flipped_bit_is_corrupt(at: int) -> None:
    data = bytearray(encode_snapshot([entry()]))
    data[at] ^= 4
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(bytes(data), "s")


@pytest.mark.parametrize("size", [0, 9, 10, 55])
def test_a_cut_snapshot_is_corrupt(size: int) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(encode_snapshot([entry()])[:size], "s")


def test_a_corrupt_snapshot_is_deleted_and_an_older_one_taken(files: Files, tmp_path: Path) -> None:
    snapshots = Snapshots(files, str(tmp_path))
    snapshots.take(10, [entry()], sync=True)
    snapshots.take(20, [], sync=True)
    (tmp_path / "00000000000000000020.snapshot").write_bytes(b"")
    found = Snapshots(files, str(tmp_path), [10, 20]).read_latest(30)
    assert found is not None
    assert found[0] == 10
    assert [path.name for path in tmp_path.iterdir()] == ["00000000000000000010.snapshot"]


def test_only_snapshots_of_segments_and_the_newest_of_all_are_kept(files: Files, tmp_path: Path) -> None:
    snapshots = Snapshots(files, str(tmp_path))
    for offset in (5, 10, 15, 20, 25, 30):
        snapshots.take(offset, [], sync=False)
    snapshots.remove_strays([0, 10, 20])
    assert snapshots.offsets == [10, 20, 30]


class WaitingFiles(Files):
    """Once `slow` is set, the first sync of a file waits until `go` is."""

    def __init__(self) -> None:
        super().__init__()
        self.slow, self.waits, self.go = Event(), Event(), Event()

    def sync(self, handle: FileHandle) -> None:
        if self.slow.is_set():
            self.slow.clear()
            self.waits.set()
            assert self.go.wait(DEADLINE_S)
        super().sync(handle)


def test_epochs_are_written_by_one_thread_at_a_time(tmp_path: Path) -> None:
    files = WaitingFiles()
    epochs = LeaderEpochs(files, str(tmp_path))
    epochs.assign(1, 0)
    files.slow.set()
    with ThreadPoolExecutor(2) as workers:
        flush = workers.submit(epochs.sync)
        assert files.waits.wait(DEADLINE_S)
        other = workers.submit(epochs.assign, 2, 10)
        assert not wait([other], timeout=MOMENT_S).done
        files.go.set()
        flush.result(DEADLINE_S)
        other.result(DEADLINE_S)
    assert [entry.epoch for entry in LeaderEpochs(Files(), str(tmp_path)).entries] == [1, 2]
    assert epochs._unsynced  # what came meanwhile is for the next flush
