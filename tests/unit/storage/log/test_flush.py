"""A topic was deleted while a worker synced its log: an error line said that its folder was missing.

A log is let go of before each sync of a flush, in each way that there is.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.directories.log_manager import LogManager
from stepdown.storage.directories.log_move import LogMove
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.files.files import Files
from stepdown.storage.log.log import Log
from stepdown.storage.log.log_config import LogConfig
from support.clock import ManualClock
from support.logs import NOW, append


class InterruptedFiles(Files):
    """Before sync number `at`, counted from 0, something happens; not within the writing of a small file, for which
    others wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at = self.syncs = -1
        self.happens: Callable[[], object] = lambda: None

    def sync(self, handle: FileHandle) -> None:
        self._count()
        super().sync(handle)

    def sync_directory(self, path: str) -> None:
        self._count()
        super().sync_directory(path)

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        happens, self.happens = self.happens, lambda: None
        super().replace(path, data, sync=sync, private=private)
        self.happens = happens

    def _count(self) -> None:
        self.syncs += 1
        if self.syncs == self.at:
            self.happens()


def delete(manager: LogManager, log: Log) -> None:
    manager.delete(log.topic, log.partition)


def move(manager: LogManager, log: Log) -> None:
    others = [path for path in manager.metadata_directories if not log.directory.startswith(path)]
    manager.replace_with_moved_log(LogMove(manager.files, log, others[0]))


def take_offline(manager: LogManager, log: Log) -> None:
    log.take_offline(DiskFault("the disk is gone"))


@pytest.mark.parametrize("let_go", [delete, move, take_offline])
def test_a_flush_of_a_log_that_is_let_go_of_meanwhile_is_no_fault(
    tmp_path: Path, let_go: Callable[[LogManager, Log], None]
) -> None:
    files = InterruptedFiles()
    directories = [str(tmp_path / "a"), str(tmp_path / "b")]
    manager = LogManager(directories, files, ManualClock(NOW), LogConfig(segment_bytes=200))
    at = 0
    while files.syncs >= files.at:  # until a flush ends before that sync
        log = manager.create(f"t{at}", 0, None)
        for _ in range(5):
            append(log, b"v" * 100)
        flush = log.plan_flush()
        files.syncs, files.at = -1, at
        files.happens = lambda log=log: let_go(manager, log)  # type: ignore[misc]
        flush.run()
        at += 1
    assert at > 5
    manager.abandon()
