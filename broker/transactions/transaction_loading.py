"""Loads partitions of `__transaction_state`, at the start and when this broker becomes their leader.

Until a partition is loaded, requests for its ids are answered COORDINATOR_LOAD_IN_PROGRESS; others are served.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter

from ...protocol.errors import ApiError
from ..maintenance.internal_topic_loading import PartitionLoading
from ..scheduling.round_faults import RoundFaults
from .registry import TransactionRegistry
from .state_topic import StateTopic

log = logging.getLogger(__name__)


class TransactionLoading(PartitionLoading):
    """Loads partitions one after the other.

    Calls `settle` before the loaded ids are served, and `resume` after that.
    """

    def __init__(
        self,
        rounds: RoundFaults,
        topic: StateTopic,
        transactions: TransactionRegistry,
        settle: Callable[[], None],
        resume: Callable[[Sequence[int]], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._rounds = rounds
        self._topic = topic
        self._transactions = transactions
        self._settle = settle
        self._resume = resume

    def start(self) -> None:
        """Begins to load all partitions that have records and are led here."""
        self.load(self._topic.partitions_with_records())

    async def load_all(self, partitions: Sequence[int], loading: object) -> None:
        began = perf_counter()
        for partition in partitions:
            with self._rounds.catch_item_fault("loading", f"__transaction_state-{partition}"):
                await self._load(partition, loading)
        seconds = perf_counter() - began
        log.info("loaded %d transactional ids in %.3f s", len(self._transactions), seconds)
        self._settle()
        loaded = [partition for partition in partitions if self.is_current(partition, loading)]
        for partition in loaded:
            self.finish_loading(partition, loading)
        await self._resume(loaded)

    async def _load(self, partition: int, loading: object) -> None:
        try:
            async for record in self._topic.read(partition):
                if not self.is_current(partition, loading):
                    return
                self._transactions.apply(record)
        except ApiError as error:
            if self.is_current(partition, loading):
                log.error("__transaction_state-%d could be loaded in part only: %s", partition, error)
