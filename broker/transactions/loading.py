"""Loading `__transaction_state` at the start: which partitions have something to load, and what follows when they are.

Until then ids of those partitions are answered COORDINATOR_LOAD_IN_PROGRESS; all others are served.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

from ...protocol.errors import ApiError
from .registry import Transactions
from .state_topic import StateTopic

log = logging.getLogger(__name__)


class Loading:
    """Loads partitions one after the other. `settle` is called before any of the ids is served, `resume` after that."""

    def __init__(
        self,
        topic: StateTopic,
        transactions: Transactions,
        settle: Callable[[], None],
        resume: Callable[[], Awaitable[None]],
    ) -> None:
        self._topic = topic
        self._transactions = transactions
        self._settle = settle
        self._resume = resume
        self._waiting: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_on(self) -> bool:
        return bool(self._waiting)

    def is_loading(self, partition: int) -> bool:
        return partition in self._waiting

    def start(self) -> None:
        """Begins to load what there is; with nothing there it is over at once."""
        partitions = self._topic.with_records()
        self._waiting.update(partitions)
        if partitions:
            self._task = asyncio.get_running_loop().create_task(self._load_all(partitions))

    async def finished(self) -> None:
        """Returns when all partitions have been loaded."""
        if self._task is not None:
            await self._task

    async def stop(self) -> None:
        """Gives up what is not loaded yet."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _load_all(self, partitions: Sequence[int]) -> None:
        began = perf_counter()
        for partition in partitions:
            await self._load(partition)
        seconds = perf_counter() - began
        log.info("loaded %d transactional ids in %.3f s", len(self._transactions), seconds)
        self._settle()
        self._waiting.clear()
        await self._resume()

    async def _load(self, partition: int) -> None:
        try:
            async for record in self._topic.read(partition):
                self._transactions.apply(record)
        except ApiError as error:
            log.error("partition %d of the transactions could be loaded in part only: %s", partition, error)
