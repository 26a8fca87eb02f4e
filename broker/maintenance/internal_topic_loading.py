"""Loads a coordinator's internal topic at startup, partition by partition, while other requests are served."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ...protocol.records.batches import Batch, iter_batches
from ...storage.log.log import Log
from ..scheduling.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from ..core import Core

Entry = TypeVar("Entry")


class PartitionLoading(ABC):
    """The partitions that are not loaded yet, and the tasks that load them."""

    def __init__(self) -> None:
        self._waiting: dict[int, object] = {}  # the loading that each of them waits for
        self._tasks = BackgroundTasks()

    @abstractmethod
    async def load_all(self, partitions: Sequence[int], loading: object) -> None:
        """Loads those that are still wanted, and calls `finish_loading` for each."""

    @property
    def is_on(self) -> bool:
        return bool(self._waiting)

    def is_loading(self, partition: int) -> bool:
        return partition in self._waiting

    def is_current(self, partition: int, loading: object) -> bool:
        """Whether the partition still waits for this loading, which leader changes may have cancelled or replaced."""
        return self._waiting.get(partition) is loading

    def finish_loading(self, partition: int, loading: object) -> None:
        """Marks the partition as loaded."""
        if self.is_current(partition, loading):
            del self._waiting[partition]

    def load(self, partitions: Sequence[int]) -> None:
        """Begins to load the partitions in a task."""
        if not partitions:
            return
        loading = object()
        self._waiting.update(dict.fromkeys(partitions, loading))
        self._tasks.begin(self.load_all(partitions, loading))

    def cancel(self, partition: int) -> None:
        """Stops waiting for the partition; `load_all` skips it then."""
        self._waiting.pop(partition, None)

    def cancel_all(self) -> None:
        """As `cancel`, for all partitions."""
        self._waiting.clear()

    async def wait(self) -> None:
        """Returns when all partitions have been loaded."""
        await self._tasks.wait()

    async def stop(self) -> None:
        """Cancels the tasks."""
        await self._tasks.stop()


async def read_log_entries(
    core: "Core", source: Log, chunk_bytes: int, entries: Callable[[Batch], Iterable[Entry]]
) -> AsyncIterator[Entry]:
    """Yields all entries of a log's batches in their order, in turns; `entries` decodes a batch. Raises: ApiError."""
    offset, end = source.log_start_offset, source.log_end_offset
    turn = core.turns.begin()
    while offset < end:
        found = source.read(offset, chunk_bytes, below=end, min_one_message=True)
        chunk = found.read(0, found.size_bytes)
        if not chunk:
            return
        for batch in iter_batches(chunk):
            batch.ensure_valid()
            offset = batch.last_offset + 1
            for entry in entries(batch):
                yield entry
                await turn.next()
