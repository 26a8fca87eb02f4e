"""Folders that are named as log directories and are none: a partition's folder was served, and had a log directory
made in it, and so were ZooKeeper's files and folders of other people's.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.directories.directory_check import NotALogDirectory, has_broker_files
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.files.files import Files
from support.clock import ManualClock
from support.logs import NOW

SEGMENT = f"{0:020d}.log"


def put(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return folder


def open_manager(*directories: Path) -> LogManager:
    return LogManager([str(each) for each in directories], Files(), ManualClock(NOW))


def names_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


OTHER_FOLDERS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "of a partition": (lambda at: put(at / "data" / "t-0", SEGMENT), "the folder above it: {tmp}/data$"),
    "of a partition, empty but for its id": (lambda at: put(at / "data" / "t-0", "partition.metadata"), "above it"),
    "of a partition, renamed": (lambda at: put(at / "copy", SEGMENT), "a name such as topic-0, and name .*: {tmp}$"),
    "of the metadata log": (lambda at: put(at / "data" / "__cluster_metadata-0", SEGMENT), "above it: {tmp}/data$"),
    "ZooKeeper's": (lambda at: put(at, "zoo/version-2/log.1", "zoo/version-2/snapshot.0") / "zoo", "of ZooKeeper"),
    "ZooKeeper's version-2": (lambda at: put(at / "version-2", "log.a1"), r"of ZooKeeper \(log.a1\)"),
    "above a log directory": (
        lambda at: put(at / "kafka", "data/meta.properties"),
        "{tmp}/kafka/data in it was probably meant$",
    ),
    "above log directories that are named as partitions are": (
        lambda at: put(at / "kafka", "logs-1/meta.properties", "logs-2/meta.properties"),
        "{tmp}/kafka/logs-1 or {tmp}/kafka/logs-2 in it was probably meant$",
    ),
    "of a cluster in one process": (
        lambda at: put(at / "kafka", "broker-1/meta.properties", "broker-2/meta.properties"),
        "or {tmp}/kafka/broker-2 in it was probably meant. Where it is the folder of a cluster, pass --brokers 2",
    ),
    "a home": (lambda at: put(at / "home", ".ssh/id", "Documents/a", ".profile"), r"\(.ssh, Documents\)"),
}


@pytest.mark.parametrize("kind", OTHER_FOLDERS)
@pytest.mark.parametrize("is_first", [True, False])
def test_it_is_refused_with_what_it_is_before_anything_is_written(tmp_path: Path, kind: str, is_first: bool) -> None:
    make, said = OTHER_FOLDERS[kind]
    other = make(tmp_path)
    before = names_below(other)
    good = tmp_path / "good"
    with pytest.raises(NotALogDirectory, match=said.format(tmp=tmp_path)):
        open_manager(*((other, good) if is_first else (good, other)))
    assert names_below(other) == before


def test_a_folder_with_other_files_only_becomes_a_log_directory_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "server.log", "gc.log", ".gitkeep")
    with caplog.at_level(logging.WARNING):
        open_manager(tmp_path).shutdown()
        assert caplog.messages == [
            f"{tmp_path} becomes a log directory, and has files that no broker wrote: gc.log, server.log"
        ]
        open_manager(tmp_path).shutdown()
    assert len(caplog.messages) == 1


def test_a_partitions_folder_that_was_made_a_log_directory_before_says_so_and_is_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    open_manager(tmp_path).shutdown()
    put(tmp_path, SEGMENT)
    open_manager(tmp_path).shutdown()
    assert f"{tmp_path} holds files of a partition that are not served: {SEGMENT}" in caplog.messages


@pytest.mark.parametrize("names", [(), (SEGMENT.replace(".log", ".deleted"),), ("a.log", "b.index")])
def test_a_folder_without_files_of_a_partition_may_be_one(tmp_path: Path, names: tuple[str, ...]) -> None:
    open_manager(put(tmp_path, *names)).shutdown()
    assert has_broker_files(Files(), str(tmp_path))


def test_a_file_is_refused_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(DiskFault, match="data: a folder was expected, found a file"):
        open_manager(put(tmp_path, "data") / "data")
