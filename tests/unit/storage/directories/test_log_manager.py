"""All log directories of a broker: locks, identity, marks, checkpoints, making and deleting logs."""

import logging
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from stepdown.protocol.errors import ApiError, DiskFault, ErrorCode
from stepdown.storage.directories.broker_identity import BrokerIdentity
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.directories.meta_properties import read_meta_properties
from stepdown.storage.directories.new_logs import MANY
from stepdown.storage.files.files import Files
from stepdown.storage.log.log_config import LogConfig
from support.clock import ManualClock
from support.files import FaultyFiles
from support.logs import NOW, append, file_names, read_all, values_of

TOPIC_ID = UUID("436c7a4e-a0af-4352-893e-0307916b1357")


def open_dirs(
    *directories: Path, files: Files | None = None, identity: BrokerIdentity | None = None, **config: object
) -> LogManager:
    paths = [str(directory) for directory in directories]
    return LogManager(paths, files or Files(), ManualClock(NOW), LogConfig(**config), identity=identity)  # type: ignore[arg-type]


def test_a_directory_that_is_missing_is_made_and_marked(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path / "a" / "b")
    assert file_names(tmp_path / "a" / "b") == [".lock", "meta.properties"]
    assert dirs.identity.node_id == 1
    assert len(dirs.cluster_id) == 22
    text = (tmp_path / "a" / "b" / "meta.properties").read_text()
    assert f"version=1\nnode.id=1\ncluster.id={dirs.cluster_id}\ndirectory.id=" in text


def test_a_second_broker_is_kept_out(tmp_path: Path) -> None:
    open_dirs(tmp_path)
    with pytest.raises(DiskFault, match="in use by another broker"):
        open_dirs(tmp_path)


def test_a_second_process_is_kept_out_as_kafka_would_be(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    attempt = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", attempt, str(tmp_path / ".lock")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    dirs.shutdown()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_failed_start_leaves_no_lock_behind(tmp_path: Path) -> None:
    open_dirs(tmp_path / "a").shutdown()
    (tmp_path / "a" / "no log").mkdir()
    with pytest.raises(DiskFault, match="not the folder of a log"):
        open_dirs(tmp_path / "a")
    (tmp_path / "a" / "no log").rmdir()
    open_dirs(tmp_path / "a")


def test_logs_come_back_after_a_clean_stop(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    log = dirs.create("a-b", 11, TOPIC_ID)
    append(log, b"a", b"b")
    log.advance_log_start(1)
    dirs.shutdown()
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":-1}'
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\na-b 11 2\n"
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\na-b 11 1\n"
    dirs = open_dirs(tmp_path)
    log = dirs.logs["a-b", 11]
    assert dirs.was_clean(log.directory)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert (log.topic_id, log.log_start_offset, log.log_end_offset, log.recovery_point) == (TOPIC_ID, 1, 2, 2)


@pytest.mark.parametrize("count", [1, MANY])
def test_the_topic_id_is_on_the_disk_once_new_logs_are_synced(tmp_path: Path, count: int) -> None:
    files = FaultyFiles()
    dirs = open_dirs(tmp_path, files=files)
    for index in range(count):
        dirs.create("t", index, TOPIC_ID)
    assert dirs.new_logs
    assert not (tmp_path / "t-0" / "partition.metadata").exists()
    dirs.new_logs.prepare_sync()()
    assert not dirs.new_logs
    files.lose_power()
    for index in range(count):
        assert (tmp_path / f"t-{index}" / "partition.metadata").read_text().endswith("Q2x6TqCvQ1KJPgMHkWsTVw")


def test_a_new_log_whose_folder_cannot_be_synced_takes_no_appends(tmp_path: Path) -> None:
    files = FaultyFiles()
    dirs = open_dirs(tmp_path, files=files)
    log, deleted = dirs.create("t", 0, TOPIC_ID), dirs.create("u", 0, TOPIC_ID)
    sync = dirs.new_logs.prepare_sync()
    dirs.delete("u", 0)
    (tmp_path / "t-0" / "partition.metadata.tmp").unlink()
    with pytest.raises(DiskFault):
        sync()
    assert not dirs.new_logs
    assert deleted.is_released
    with pytest.raises(DiskFault, match="closed to writing"):
        append(log, b"a")


def test_two_that_wait_for_one_new_folder_are_done_with_it_once(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    log = dirs.create("t", 0, TOPIC_ID)
    first, second = dirs.new_logs.prepare_sync(), dirs.new_logs.prepare_sync()
    first()
    second()
    append(log, b"a")
    assert (tmp_path / "t-0" / "partition.metadata").exists()


def test_all_that_wait_for_a_new_folder_are_told_that_it_could_not_be_synced(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    dirs.create("t", 0, TOPIC_ID)
    waiting = [dirs.new_logs.prepare_sync(), dirs.new_logs.prepare_sync()]
    (tmp_path / "t-0" / "partition.metadata.tmp").unlink()
    for sync in waiting:
        with pytest.raises(DiskFault):
            sync()


def test_without_the_mark_logs_are_recovered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dirs = open_dirs(tmp_path)
    append(dirs.create("t", 0, TOPIC_ID), b"a", b"b")
    dirs.checkpoints.write_recovery_points()
    dirs._release()
    with caplog.at_level(logging.INFO):
        dirs = open_dirs(tmp_path)
    assert "was not closed cleanly" in caplog.text
    assert not dirs.was_clean(str(tmp_path))
    assert values_of(read_all(dirs.logs["t", 0])) == [b"a", b"b"]


def test_a_log_that_cannot_be_closed_costs_the_mark(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = FaultyFiles()
    dirs = open_dirs(tmp_path, files=files)
    append(dirs.create("t", 0, TOPIC_ID), b"a")
    dirs.new_logs.prepare_sync()()
    files.fails_sync = True
    dirs.shutdown()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert "could not be closed cleanly" in caplog.text
    assert open_dirs(tmp_path).logs["t", 0].log_end_offset == 1


def test_unreadable_checkpoints_count_as_empty(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    dirs = open_dirs(tmp_path)
    append(dirs.create("t", 0, TOPIC_ID), b"a")
    dirs._release()
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        (tmp_path / name).write_text("0\n7\n")
    log = open_dirs(tmp_path).logs["t", 0]
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (0, 1, 0)
    assert "7 entries expected" in caplog.text


def test_new_logs_go_where_the_fewest_are(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path / "a", tmp_path / "b")
    places = [Path(dirs.create("t", n, TOPIC_ID).directory).parent.name for n in range(4)]
    assert sorted(places) == ["a", "a", "b", "b"]
    dirs.shutdown()
    assert len(open_dirs(tmp_path / "b", tmp_path / "a").logs) == 4


def test_the_same_directory_twice_is_one(tmp_path: Path) -> None:
    assert len(open_dirs(tmp_path, tmp_path / "." / ".." / tmp_path.name).directories) == 1


def test_a_log_in_two_directories_stops_the_start(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name / "t-0").mkdir(parents=True)
    with pytest.raises(DiskFault, match="t-0 is in two places"):
        open_dirs(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(
    ("first", "second", "complaint"),
    [
        ("version=0\nbroker.id=1\n", "version=1\nnode.id=2\ncluster.id=c\n", "node 2, but .*; leave"),
        (
            "version=1\nnode.id=1\ncluster.id=c\n",
            "version=1\nnode.id=1\ncluster.id=d\n",
            "cluster d, but .*; leave",
        ),
    ],
)
def test_directories_of_different_brokers_stop_the_start(
    tmp_path: Path, first: str, second: str, complaint: str
) -> None:
    for name, text in (("a", first), ("b", second)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.properties").write_text(text)
    with pytest.raises(DiskFault, match=complaint):
        open_dirs(tmp_path / "a", tmp_path / "b")


def test_settings_that_contradict_the_directory_stop_the_start(tmp_path: Path) -> None:
    open_dirs(tmp_path, identity=BrokerIdentity(node_id=4)).shutdown()
    with pytest.raises(DiskFault, match="node 4, but"):
        open_dirs(tmp_path, identity=BrokerIdentity(node_id=5))
    assert open_dirs(tmp_path).identity.node_id == 4


def test_a_new_directory_gets_the_identity_of_the_others_when_it_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "meta.properties").write_text("version=0\nbroker.id=7\ncluster.id=c\n")
    dirs = open_dirs(tmp_path / "b", tmp_path / "a")
    assert (dirs.identity.node_id, dirs.cluster_id) == (7, "c")
    assert dirs.new_directories == [str(tmp_path / "b")]
    assert not (tmp_path / "b" / "meta.properties").exists()
    dirs.accept_new_directories()
    assert "node.id=7\ncluster.id=c" in (tmp_path / "b" / "meta.properties").read_text()
    upgraded = read_meta_properties(dirs.files, str(tmp_path / "a"))
    assert upgraded is not None
    assert (upgraded.version, upgraded.node_id, upgraded.directory_id is None) == (1, 7, False)


def test_a_used_directory_without_its_identity_is_taken_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Fault: without meta.properties a directory became that of node 1 in a new cluster, and nothing said so."""
    dirs = open_dirs(tmp_path, identity=BrokerIdentity(node_id=4, cluster_id="c"))
    dirs.create("t", 0, TOPIC_ID)
    dirs.shutdown()
    (tmp_path / "meta.properties").unlink()
    assert not caplog.messages
    open_dirs(tmp_path, identity=BrokerIdentity(node_id=5, cluster_id="c")).shutdown()
    assert caplog.messages[0].startswith(
        f"{tmp_path} has no meta.properties although a broker has used it: it is taken for node 5 of the cluster c."
    )


@pytest.mark.parametrize("name", ["remote-log-index-cache", "__cluster_metadata-0", "lost+found"])
def test_folders_that_hold_no_log_of_ours_are_skipped(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert not open_dirs(tmp_path).logs


@pytest.mark.parametrize("name", ["foo", "-0", "a-0-delete", "a-0-stray", "b-2147483648"])
def test_a_folder_that_is_none_of_a_log_stops_the_start_as_kafkas(tmp_path: Path, name: str) -> None:
    open_dirs(tmp_path).shutdown()
    (tmp_path / name).mkdir()
    with pytest.raises(DiskFault, match=rf"{name} is not the folder of a log: .* move it out of the log directory"):
        open_dirs(tmp_path)


def test_a_folder_in_place_of_a_checkpoint_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "log-start-offset-checkpoint").mkdir()
    with pytest.raises(DiskFault, match="checkpoint: a file was expected, found a folder: move it away"):
        open_dirs(tmp_path)


@pytest.mark.parametrize("suffix", ["future", "stray"])
def test_logs_aside_are_neither_served_nor_deleted(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"t-0.0123456789abcdef0123456789abcdef-{suffix}"
    folder.mkdir()
    dirs = open_dirs(tmp_path)
    dirs.deletions.delete_due(NOW + 10**9)
    assert not dirs.logs
    assert folder.exists()


def test_a_deleted_log_is_renamed_and_removed_later(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    log = dirs.create("t", 0, TOPIC_ID, LogConfig(file_delete_delay_ms=500))
    append(log, b"a")
    found = log.read(0, 1000, below=1)
    dirs.delete("t", 0)
    (folder,) = tmp_path.glob("t-0.*-delete")
    assert len(folder.name) == len("t-0.") + 32 + len("-delete")
    assert dirs.deletions.delete_due(NOW + 499) == 0
    assert dirs.deletions.delete_due(NOW + 500) == 1
    assert not folder.exists()
    assert found.read(0, 1000)


def test_a_deleted_log_does_not_write_into_one_that_got_its_name(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    old = dirs.create("t", 0, TOPIC_ID)
    append(old, b"old")
    flush = old.plan_flush()
    dirs.delete("t", 0)
    new = dirs.create("t", 0, TOPIC_ID)
    with pytest.raises(DiskFault, match="is deleted"):
        append(old, b"late")
    flush.run()
    append(new, b"new")
    assert values_of(read_all(new)) == [b"new"]


def test_a_deletion_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    (tmp_path / ("t-0." + "0" * 32 + "-delete")).mkdir()
    dirs = open_dirs(tmp_path, file_delete_delay_ms=100)
    assert dirs.deletions.delete_due(NOW + 100) == 1


def test_a_new_log_does_not_inherit_the_start_of_a_deleted_one(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    log = dirs.create("t", 0, TOPIC_ID)
    append(log, b"a", b"b", b"c")
    log.advance_log_start(3)
    dirs.checkpoints.write_log_starts()
    dirs.delete("t", 0)
    append(dirs.create("t", 0, TOPIC_ID), b"new")
    dirs._release()
    log = open_dirs(tmp_path).logs["t", 0]
    assert values_of(read_all(log)) == [b"new"]


def test_what_exists_is_not_made_and_what_does_not_is_not_deleted(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    dirs.create("t", 0, TOPIC_ID)
    with pytest.raises(ApiError) as refused:
        dirs.create("t", 0, TOPIC_ID)
    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(ApiError) as refused:
        dirs.delete("t", 1)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_high_watermarks_are_written_as_given(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    append(dirs.create("t", 0, TOPIC_ID), b"a", b"b")
    append(dirs.create("t", 1, TOPIC_ID), b"a", b"b")
    dirs.checkpoints.write_high_watermarks({("t", 0): 1})
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n2\nt 0 1\nt 1 2\n"
    assert dirs.checkpoints.high_watermarks() == {("t", 0): 1, ("t", 1): 2}


def test_a_log_with_data_is_due_for_a_flush_when_flush_ms_is_over(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    config = LogConfig(flush_ms=1000)
    empty, written = (dirs.create("t", partition, TOPIC_ID, config) for partition in (0, 1))
    append(written, b"a")
    assert not written.is_due_for_flush(NOW + 999)
    assert written.is_due_for_flush(NOW + 1000)
    written.plan_flush().run()
    assert not written.is_due_for_flush(NOW + 1000)
    assert not empty.is_due_for_flush(NOW + 1000)


def test_rolled_logs_are_handed_out_once(tmp_path: Path) -> None:
    dirs = open_dirs(tmp_path)
    log = dirs.create("t", 0, TOPIC_ID, LogConfig(segment_bytes=100))
    for _ in range(3):
        append(log, b"a")
    assert dirs.take_rolled_logs() == [log]
    assert dirs.take_rolled_logs() == []


class FilesOfABrokenDisk(Files):
    """Replaces no file below `broken`."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = "nowhere"

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        if path.startswith(self.broken):
            raise DiskFault(f"{path}: the disk is gone")
        super().replace(path, data, sync=sync, private=private)


def test_a_directory_that_fails_does_not_keep_the_others_from_their_checkpoints(tmp_path: Path) -> None:
    files = FilesOfABrokenDisk()
    dirs = open_dirs(tmp_path / "a", tmp_path / "b", files=files)
    for topic in ("one", "two"):
        append(dirs.create(topic, 0, None), b"x")
    files.broken = str(tmp_path / "a")
    with pytest.raises(DiskFault, match="the disk is gone"):
        dirs.checkpoints.write_high_watermarks({("one", 0): 1, ("two", 0): 1})
    assert not (tmp_path / "a" / "replication-offset-checkpoint").exists()
    assert (tmp_path / "b" / "replication-offset-checkpoint").read_text() == "0\n1\ntwo 0 1\n"


def test_new_logs_go_where_nothing_fails(tmp_path: Path) -> None:
    files = FilesOfABrokenDisk()
    dirs = open_dirs(tmp_path / "a", tmp_path / "b", files=files)
    bad, good = dirs.create("one", 0, None), dirs.create("two", 0, None)
    dirs.create("gone", 0, None)
    dirs.delete("gone", 0)  # its checkpoints have to be written before another log is made
    assert dirs.failing_directories() == set()
    files.broken = str(Path(bad.directory).parent)
    bad.fault = DiskFault("the disk is gone")
    assert dirs.failing_directories() == {files.broken}
    for topic in ("three", "four"):
        assert Path(dirs.create(topic, 0, None).directory).parent == Path(good.directory).parent
    good.fault = DiskFault("the other one too")
    assert dirs.failing_directories() == set(dirs.directories)
