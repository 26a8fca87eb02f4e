"""The transactional half of `Producer`: the calls of applications, timed, and what transactions do to batches."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ..accumulator.appender import Appender
from ..accumulator.record_accumulator import Accumulator
from ..errors import ProducerError, WrongState
from ..metrics.metrics import ProducerMetrics
from ..sender.produce_results import ProduceResultHandler
from .offset_and_group_metadata import GroupMetadata, Offsets
from .state import TransactionManagerState
from .transactions import Transactions


class OpenBatches:
    """The batches and the records before them, as transactions see them."""

    def __init__(self, accumulator: Accumulator, appender: Appender, results: ProduceResultHandler) -> None:
        self._accumulator, self._appender, self._results = accumulator, appender, results

    def has_open_batches(self) -> bool:
        """Whether a batch has not ended."""
        return bool(self._accumulator.live)

    def abort_unsent(self, error: ProducerError) -> None:
        """Fails the records in line, and the batches that no broker was sent."""
        self._appender.refuse_all(error)
        for batch in self._accumulator.take_unsent():
            self._results.fail(batch, error)

    def skip_linger(self, on: bool) -> None:
        """Has batches not linger while a transaction ends. `on`: from now on, else no longer."""
        self._accumulator.flushes += 1 if on else -1


class TransactionMethods:
    """What `Producer` inherits; without `transactional.id` every call raises WrongState.

    Each coroutine waits for `max.block.ms` at most, then raises Timeout and goes on in the background: call it again,
    before any other, but not `send_offsets_to_transaction`, which would send the offsets a second time. After an error
    within a transaction call `abort_transaction`, unless the error is fatal for the producer.
    """

    meters: ProducerMetrics
    _appender: Appender
    _transactions: Transactions | None = None
    _closed: bool
    _started: bool

    def _ensure_own_loop(self) -> None:
        raise NotImplementedError

    def _ensure_own_thread(self) -> None:
        raise NotImplementedError

    async def init_transactions(self) -> None:
        """Once, before all others: takes the transactional id, ends what an earlier holder left open, and fences it."""
        with self._measure("txn-init"):
            await self._get_transactions_in_own_loop().init()

    def begin_transaction(self) -> None:
        """From here on each record belongs to the transaction."""
        with self._measure("txn-begin"):
            self._get_transactions().begin()

    async def send_offsets_to_transaction(self, offsets: Offsets, group: GroupMetadata | str) -> None:
        """Commits a consumer's offsets, each the next one to read, if and when the transaction commits."""
        with self._measure("txn-send-offsets"):
            metadata = GroupMetadata(group_id=group) if isinstance(group, str) else group
            await self._get_transactions_in_own_loop().send_offsets(offsets, metadata)

    async def commit_transaction(self) -> None:
        """Sends what is left, and commits. Raises: what any of the transaction's records has failed with."""
        transactions = self._get_transactions_in_own_loop()
        with self._measure("txn-commit"):
            while transactions.state is TransactionManagerState.IN_TRANSACTION and (
                waiting := self._appender.waiting_records
            ):
                await waiting[0].delivery.accepted()
            await transactions.commit()

    async def abort_transaction(self) -> None:
        """Ends the transaction as if nothing had been sent; what was not sent yet fails with TransactionAborted."""
        with self._measure("txn-abort"):
            await self._get_transactions_in_own_loop().abort()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction that commits at the end of the block, and aborts when an exception leaves it."""
        transactions = self._get_transactions_in_own_loop()
        self.begin_transaction()
        try:
            yield
            await self.commit_transaction()
        except BaseException:
            if transactions.can_abort:
                await transactions.abort()
            raise

    def _get_transactions_in_own_loop(self) -> Transactions:
        transactions = self._get_transactions()
        self._ensure_own_loop()
        return transactions

    def _get_transactions(self) -> Transactions:
        if self._transactions is None:
            raise WrongState("the producer has no transactional.id")
        if self._closed:
            raise WrongState("the producer is closed")
        if not self._started:
            raise WrongState("the producer has not been started")
        self._ensure_own_thread()
        return self._transactions

    @contextmanager
    def _measure(self, meter: str) -> Iterator[None]:
        started = time.perf_counter_ns()
        try:
            yield
        finally:
            self.meters.elapsed_ns[meter] += time.perf_counter_ns() - started
