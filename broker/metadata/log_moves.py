"""Moves partitions between log directories, as AlterReplicaLogDirs asks for.

A worker thread copies closed segments, one after the other. When little is left, the event loop copies the rest in one
step, so that nothing is appended meanwhile. Fetches in flight keep the files that they are sending.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...storage.directories.log_move import LogMove, find_unfinished_copies
from ...storage.files.file_names import fits_future_directory
from .image import Topic
from .partition import Partition

if TYPE_CHECKING:
    from ..core import Core

LITTLE_BYTES = 4 << 20

log = logging.getLogger(__name__)


class LogMoves:
    """The moves of one broker, at most one for each partition."""

    def __init__(self, core: "Core") -> None:
        self._core = core
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._moves: dict[tuple[str, int], LogMove] = {}

    def remove_unfinished_copies(self) -> None:
        """Removes copies that a crash left unfinished. Raises DiskFault."""
        log_manager = self._core.log_manager
        for folder in find_unfinished_copies(log_manager.files, log_manager.directories):
            log.info("%s is left of a move that did not finish, and is removed", folder)
            log_manager.files.remove_directory(folder)

    def request_move(self, name: str, index: int, path: str) -> None:
        """Begins to move a partition to `path`, unless it is there or on its way there.

        Raises ApiError 3, 17 or 57, DiskFault.
        """
        if not fits_future_directory(name, index):
            raise ApiError(
                f"the name of {name} is too long for its folder to be moved", ErrorCode.INVALID_TOPIC_EXCEPTION
            )
        directories = self._core.log_manager.directories
        if path not in directories:
            raise ApiError(
                f"{path} is no log directory of this broker, they are {', '.join(directories)}",
                ErrorCode.LOG_DIR_NOT_FOUND,
            )
        if path in self._core.log_manager.offline:
            raise DiskFault(f"{path} is offline: {self._core.log_manager.offline[path]}")
        partition = self._core.cluster.partition(name, index)
        present = self._moves.get(partition.key)
        if present is not None and present.destination == path:
            return
        self._cancel(partition.key)
        if partition.log.directory.rpartition("/")[0] != path:
            self._begin_move(partition, path)

    def moves_under_way(self) -> Iterable[LogMove]:
        """The moves that are not finished."""
        return list(self._moves.values())

    def cancel_moves_of(self, topics: Iterable[Topic]) -> None:
        """Cancels the moves of deleted topics."""
        for topic in topics:
            for index in topic.partitions:
                self._cancel((topic.name, index))

    async def wait_until_idle(self) -> None:
        """Returns when no move is under way."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def stop(self) -> None:
        """Cancels all moves."""
        tasks = list(self._tasks.values())
        for key in list(self._tasks):
            self._cancel(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin_move(self, partition: Partition, path: str) -> None:
        move = LogMove(self._core.log_manager.files, partition.log, path)
        task = asyncio.get_running_loop().create_task(self._run_move(partition, move))
        self._moves[partition.key], self._tasks[partition.key] = move, task
        task.add_done_callback(lambda done: self._on_end(partition.key, done))

    def _cancel(self, key: tuple[str, int]) -> None:
        self._moves.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()

    def _on_end(self, key: tuple[str, int], task: "asyncio.Task[None]") -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key], self._moves[key]

    async def _run_move(self, partition: Partition, move: LogMove) -> None:
        with self._core.rounds.catch_item_fault("log move", f"{partition.log.name} to {move.destination}"):
            await self._move(partition, move)

    async def _move(self, partition: Partition, move: LogMove) -> None:
        finished = False
        try:
            await self._copy(move)
            current = self._core.cluster.topics.get(partition.topic_name)
            if current is not None and current.partitions.get(partition.index) is partition:
                partition.log = self._core.log_manager.replace_with_moved_log(move)
                finished = True
                log.info("%s is now in %s", partition.log.name, move.destination)
        finally:
            if not finished:
                with suppress(DiskFault):
                    move.abandon()

    async def _copy(self, move: LogMove) -> None:
        """Returns when little is left to copy."""
        while True:
            copy = move.next_copy()
            if copy is not None:
                await self._core.run_in_worker(copy.run)
                move.note_copy(copy)
            elif move.remaining_bytes > LITTLE_BYTES:
                move.log.roll()
            else:
                return
