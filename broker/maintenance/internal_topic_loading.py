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
        self._waiting: dict[int, object] = {}  # which loading each of them waits for
        self._tasks = BackgroundTasks()

    @abstractmethod
    async def load_all(self, partitions: Sequence[int], loading: object) -> None:
        """Loads those that are wanted, and says that they are `finish_loading`."""

    @property
    def is_on(self) -> bool:
        return bool(self._waiting)

    def is_loading(self, partition: int) -> bool:
        return partition in self._waiting

    def is_current(self, partition: int, loading: object) -> bool:
        """Whether the partition still waits for this loading: it may be led by another broker now, or again by ours."""
        return self._waiting.get(partition) is loading

    def finish_loading(self, partition: int, loading: object) -> None:
        """The partition is loaded."""
        if self.is_current(partition, loading):
            del self._waiting[partition]

    def load(self, partitions: Sequence[int]) -> None:
        """Begins to load; with no partitions it is over at once."""
        if not partitions:
            return
        loading = object()
        self._waiting.update(dict.fromkeys(partitions, loading))
        self._tasks.begin(self.load_all(partitions, loading))

    def cancel(self, partition: int) -> None:
        """The partition is not to be loaded any more."""
        self._waiting.pop(partition, None)

    def cancel_all(self) -> None:
        """The topic was deleted."""
        self._waiting.clear()

    async def wait(self) -> None:
        """Returns when all partitions have been loaded."""
        await self._tasks.wait()

    async def stop(self) -> None:
        """Gives up what is not loaded yet."""
        await self._tasks.stop()


async def read_back(
    core: "Core", source: Log, chunk_bytes: int, entries: Callable[[Batch], Iterable[Entry]]
) -> AsyncIterator[Entry]:
    """All entries of a log's batches in their order; others have the loop in between. Raises: ApiError."""
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
