"""ZooKeeper's files at rest: the newest whole snapshot and what came after it."""

from pathlib import Path

import pytest
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.zookeeper.data_directory import DataDirectory, UnreadableDirectory, read_data_directory
from stepdown.storage.zookeeper.jute_reader import READ_BYTES
from support.zookeeper_files import (
    CLOSE_SESSION,
    FAILED,
    SESSION,
    create,
    delete,
    leave,
    log,
    set_data,
    several,
    snapshot,
)


def read(folder: Path) -> DataDirectory:
    return read_data_directory(Files(read_only=True), [str(folder)])


def nodes_of(found: DataDirectory) -> dict[str, bytes]:
    return {path: found.tree.get(path) or b"" for path in found.tree.paths() if path != "/"}


def test_a_snapshot_and_the_transactions_after_it_make_the_tree(tmp_path: Path) -> None:
    changes = [create("/a", b"0"), create("/a/b", b"1"), set_data("/a", b"2"), delete("/a/b")]
    leave(tmp_path, {"snapshot.2": snapshot({"/a": b"0", "/a/b": b"1"}), "log.1": log(1, changes)})
    found = read(tmp_path)
    assert (nodes_of(found), found.zxid, found.notes, found.gaps) == ({"/a": b"2"}, 4, [], [])
    assert found.tree.children("/") == ["a"]


def test_a_snapshot_that_has_later_changes_already_is_the_same(tmp_path: Path) -> None:
    changes = [create("/a", b"0"), create("/b"), delete("/b"), set_data("/a", b"2")]
    leave(tmp_path, {"snapshot.1": snapshot({"/a": b"2"}), "log.1": log(1, changes)})
    assert nodes_of(read(tmp_path)) == {"/a": b"2"}


def test_several_changes_at_once_happen_or_fail_together(tmp_path: Path) -> None:
    done, failed = several(create("/a"), create("/b")), several(create("/c"), (FAILED, bytes(4)))
    leave(tmp_path, {"log.1": log(1, [done, failed])})
    assert nodes_of(read(tmp_path)).keys() == {"/a", "/b"}


def test_changes_within_changes_are_damage(tmp_path: Path) -> None:
    """A log of 100 kB could nest them so deep that the reader ended in a RecursionError."""
    nested = create("/b")
    for _ in range(2_000):
        nested = several(nested)
    found = read(leave(tmp_path, {"log.1": log(1, [create("/a"), nested])}))
    assert nodes_of(found).keys() == {"/a"}
    assert "within others" in found.gaps[0]


def test_ephemeral_nodes_go_with_their_session(tmp_path: Path) -> None:
    changes = [create("/b", ephemeral=True), create("/c"), (CLOSE_SESSION, b"")]
    owned = snapshot({"/a": b"", "/d": b""}, {"/a": SESSION})
    leave(tmp_path, {"snapshot.0": owned, "log.1": log(1, changes)})
    assert nodes_of(read(tmp_path)).keys() == {"/c", "/d"}


@pytest.mark.parametrize("cut", [10, 40, -9, -30])
def test_of_a_damaged_snapshot_the_one_before_is_taken_with_a_line(tmp_path: Path, cut: int) -> None:
    changes = [create("/a", b"0"), set_data("/a", b"1"), set_data("/a", b"2")]
    files = {"snapshot.1": snapshot({"/a": b"0"}), "snapshot.2": snapshot({"/a": b"1"})[:cut], "log.1": log(1, changes)}
    found = read(leave(tmp_path, files))
    assert nodes_of(found) == {"/a": b"2"}
    assert len(found.notes) == 1
    assert "snapshot.2 is damaged" in found.notes[0]
    assert not found.gaps


def test_every_flipped_bit_of_a_snapshot_is_noticed(tmp_path: Path) -> None:
    whole = snapshot({"/a": b"0"})
    path = leave(tmp_path, {"snapshot.1": whole}) / "version-2" / "snapshot.1"
    for at in range(len(whole) - 5):  # the text after the checksum does not count
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        assert "damaged" in read(tmp_path).notes[0], at


def test_transactions_that_are_in_no_file_are_said(tmp_path: Path) -> None:
    files = {"snapshot.2": snapshot({"/a": b""}), "log.5": log(5, [set_data("/a", b"5")])}
    (gap,) = read(leave(tmp_path, files)).gaps
    assert "0x3 to 0x4 are in no file" in gap


def test_a_new_leader_of_the_ensemble_is_no_gap(tmp_path: Path) -> None:
    first = (2 << 32) + 1
    files = {"snapshot.2": snapshot({"/a": b""}), f"log.{first:x}": log(first, [set_data("/a", b"5")])}
    assert not read(leave(tmp_path, files)).gaps


def test_a_new_leader_whose_first_transactions_are_missing_is_a_gap(tmp_path: Path) -> None:
    first = (2 << 32) + 7
    files = {"snapshot.2": snapshot({"/a": b""}), f"log.{first:x}": log(first, [set_data("/a", b"5")])}
    (gap,) = read(leave(tmp_path, files)).gaps
    assert "0x3 to 0x200000006 are in no file" in gap


def test_without_a_snapshot_the_log_has_to_begin_with_the_first_leader(tmp_path: Path) -> None:
    """Fault: of an ensemble whose snapshots were lost, what was left of the logs was taken for all of it."""
    for epoch in (1, 3):
        first = (epoch << 32) + 1
        found = read(leave(tmp_path / str(epoch), {f"log.{first:x}": log(first, [create("/a")])}))
        assert ["are in no file" in gap for gap in found.gaps] == [True] * (epoch > 1)


def test_a_compressed_snapshot_that_may_fill_a_gap_is_named(tmp_path: Path) -> None:
    files = {"snapshot.4.gz": b"", "log.5": log(5, [set_data("/a", b"5")])}
    gap, hint = read(leave(tmp_path, files)).gaps
    assert "0x1 to 0x4 are in no file" in gap
    assert "snapshot.4.gz is compressed" in hint


def test_a_damaged_transaction_is_said(tmp_path: Path) -> None:
    data = bytearray(log(1, [create("/a"), create("/b"), create("/c")]))
    data[data.index(b"/b")] ^= 1
    found = read(leave(tmp_path, {"log.1": bytes(data)}))
    assert nodes_of(found).keys() == {"/a"}
    assert "after transaction 0x1 is not known" in found.gaps[0]


def test_a_transaction_that_was_being_written_does_not_count(tmp_path: Path) -> None:
    data = log(1, [create("/a"), create("/b")], padding=0)
    for cut in (1, 10, 40):
        folder = leave(tmp_path / str(cut), {"log.1": data[:-cut]})
        assert nodes_of(read(folder)).keys() == {"/a"}


def test_logs_may_lie_in_a_directory_of_their_own(tmp_path: Path) -> None:
    leave(tmp_path / "data", {"snapshot.0": snapshot({})})
    leave(tmp_path / "logs", {"log.1": log(1, [create("/a")])})
    found = read_data_directory(Files(read_only=True), [str(tmp_path / "data"), str(tmp_path / "logs")])
    assert nodes_of(found).keys() == {"/a"}


def test_a_directory_without_such_files_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDirectory, match="no snapshot"):
        read(tmp_path)


def test_no_length_in_a_file_is_believed(tmp_path: Path) -> None:
    for at, data in enumerate((snapshot({"/a": b"0"}), log(1, [create("/a")]))):
        for position in range(16, len(data) - 4):
            hostile = data[:position] + b"\x7f\xff\xff\xff" + data[position + 4 :]
            folder = leave(tmp_path / f"{at}-{position}", {("snapshot.1", "log.1")[at]: hostile})
            found = read(folder)
            assert len(found.tree) <= 3


def test_files_are_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot was read whole, up to 4 GiB of it, beside the tree that was made of it."""
    sizes: list[int] = []
    read_file = Files.read

    def note(files: Files, handle: FileHandle, size: int, position: int) -> bytes:
        sizes.append(size)
        return read_file(files, handle, size, position)

    nodes = {f"/{number}": bytes([number]) * 100_000 for number in range(40)} | {"/large": b"l" * 3_000_000}
    leave(tmp_path, {"snapshot.1": snapshot(nodes), "log.2": log(2, [set_data("/1", b"1" * 900_000)] * 5)})
    monkeypatch.setattr(Files, "read", note)
    found = read(tmp_path)
    assert (found.notes, found.gaps, found.zxid) == ([], [], 6)
    assert nodes_of(found) == nodes | {"/1": b"1" * 900_000}
    assert len([size for size in sizes if size > READ_BYTES]) == 1  # of the node that is larger
