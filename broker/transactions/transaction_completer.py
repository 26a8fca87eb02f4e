"""Completes a decided transaction: writes markers to every partition, then the complete record; retries until done."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...network.sasl.mechanism import quote_for_log
from ...protocol.errors import ApiError
from ..scheduling.background_tasks import BackgroundTasks
from .markers import MarkerWriter, ProducerMarker
from .state_topic import StateTopic
from .transaction import Transaction, TransactionMetadata
from .transaction_status import TransactionStatus

if TYPE_CHECKING:
    from ..core import Core

RETRY_MS = 100

log = logging.getLogger(__name__)


class TransactionCompleter:
    """Has one task for each transaction that is decided and not complete."""

    def __init__(
        self,
        core: "Core",
        topic: StateTopic,
        markers: MarkerWriter,
        write: Callable[[Transaction, TransactionMetadata], Awaitable[None]],
    ) -> None:
        """`write` writes the next state of a transaction and puts it into force."""
        self._clock = core.clock
        self._rounds = core.rounds
        self._topic = topic
        self._markers = markers
        self._write = write
        self._tasks = BackgroundTasks()
        # Tests close it to look at the state between a decision and its markers.
        self.gate = asyncio.Event()
        self.gate.set()

    def begin(self, transaction: Transaction) -> None:
        """Completes the transaction, in the loop's next turn at the earliest."""
        self._tasks.begin(self._complete(transaction))

    async def wait(self) -> None:
        """Returns when all these transactions are complete."""
        await self._tasks.wait()

    async def stop(self) -> None:
        """Cancels the tasks; the transactions stay decided."""
        await self._tasks.stop()

    async def _complete(self, transaction: Transaction) -> None:
        await self.gate.wait()
        with self._rounds.catch_item_fault("completion", transaction.transactional_id):
            try:
                await self._write_markers_and_complete(transaction)
            except ApiError as error:
                name = quote_for_log(transaction.transactional_id)
                log.info("the transaction of %s is completed by another broker: %s", name, error)

    async def _write_markers_and_complete(self, transaction: Transaction) -> None:
        """Raises: ApiError NOT_COORDINATOR once another broker leads the partition of the id."""
        left = set(transaction.now.partitions)
        while left:
            left = await self._markers.try_to_write_all(self._make_marker(transaction), left)
            if left:
                await self._clock.sleep(RETRY_MS)
        while not await self._try_to_complete(transaction):
            await self._clock.sleep(RETRY_MS)

    def _make_marker(self, transaction: Transaction) -> ProducerMarker:
        now = transaction.now
        index = self._topic.partition_of(transaction.transactional_id)
        return ProducerMarker(
            producer_id=now.producer_id,
            producer_epoch=now.producer_epoch,
            coordinator_epoch=self._topic.led_partition(index).leader_epoch,
            committed=now.state is TransactionStatus.PREPARE_COMMIT,
        )

    async def _try_to_complete(self, transaction: Transaction) -> bool:
        try:
            await self._write(transaction, transaction.prepare_complete(self._clock.now_ms()))
        except ApiError as error:
            self._topic.led_partition(self._topic.partition_of(transaction.transactional_id))
            log.warning(
                "the transaction of %s cannot be completed and is tried again: %s", transaction.transactional_id, error
            )
            return False
        return True
