"""Transactions as an application sees them: the calls, and who may call what when.

    async with producer.transaction():
        producer.send("out", b"value")
        await producer.send_offsets_to_transaction({("in", 0): 42}, GroupMetadata(group_id="copier"))

Calls wait `max.block.ms` at most. A call that times out goes on in the background; init, commit and abort must be
called again before any other. `send_offsets` need not be: a repeat sends the offsets a second time.
Source: Kafka 3.9, KafkaProducer and TransactionManager.handleCachedTransactionRequestResult.
"""

from collections.abc import Callable

from ..awaited_result import AwaitedResult
from ..clock import Clock
from ..errors import ProducerError, WrongState
from .offset_and_group_metadata import GroupMetadata, Offsets, normalize_offsets
from .requests import AddOffsets, EndTxn, InitProducerId
from .state import TransactionManagerState
from .transaction_manager import TransactionManager


class Transactions:
    """What may be called on the transactions of one producer; `wake` is called when there is something to send."""

    def __init__(self, manager: TransactionManager, clock: Clock, max_block_ms: int, wake: Callable[[], None]) -> None:
        self._manager, self._clock, self._max_block_ms, self._wake = manager, clock, max_block_ms, wake
        self._pending: tuple[str, AwaitedResult] | None = None

    @property
    def state(self) -> TransactionManagerState:
        return self._manager.machine.state

    @property
    def is_ongoing(self) -> bool:
        """Whether there is a transaction that has not ended."""
        return (
            self.state in (TransactionManagerState.IN_TRANSACTION, TransactionManagerState.ABORTABLE_ERROR)
            or self._manager.machine.is_completing
        )

    @property
    def can_abort(self) -> bool:
        """Whether an abort is the call that is allowed now."""
        return self._pending is None and self.state in (
            TransactionManagerState.IN_TRANSACTION,
            TransactionManagerState.ABORTABLE_ERROR,
        )

    async def init(self) -> None:
        await self._begin_or_repeat("init_transactions", self._begin_init)

    def begin(self) -> None:
        self._ensure_ready("begin_transaction")
        self._manager.transition_to(TransactionManagerState.IN_TRANSACTION)

    async def send_offsets(self, offsets: Offsets, group: GroupMetadata) -> None:
        call = "send_offsets_to_transaction"
        self._ensure_ready(call)
        if self.state is not TransactionManagerState.IN_TRANSACTION:
            raise WrongState(f"offsets need a transaction: the producer is {self.state.name}")
        if not offsets:
            return
        if not isinstance(group, GroupMetadata):
            raise TypeError(f"a group is its name or a GroupMetadata, found {type(group).__name__}")
        result = self._manager.enqueue(AddOffsets(self._manager.own, normalize_offsets(offsets), group))
        self._wake()
        await result.wait(self._clock, self._max_block_ms, call)

    async def commit(self) -> None:
        await self._begin_or_repeat("commit_transaction", self._begin_commit)

    async def abort(self) -> None:
        await self._begin_or_repeat("abort_transaction", self._begin_abort)

    async def end_open_transaction(self) -> None:
        """Aborts what is open, for a producer that closes; what was committing goes on to its end."""
        try:
            if self._pending is not None and self.is_ongoing:
                call, result = self._pending
                await self._wait(call, result)
            if self.is_ongoing:
                await self.abort()
        except ProducerError:
            # The transaction's timeout ends it at the coordinator.
            return

    def _begin_init(self) -> AwaitedResult:
        self._ensure_no_error()
        self._manager.transition_to(TransactionManagerState.INITIALIZING)
        return self._manager.enqueue(InitProducerId(self._manager.own, bump=False))

    def _begin_commit(self) -> AwaitedResult:
        self._ensure_no_error()
        self._manager.transition_to(TransactionManagerState.COMMITTING)
        return self._manager.enqueue(EndTxn(self._manager.own, commit=True))

    def _begin_abort(self) -> AwaitedResult:
        manager, error = self._manager, self._manager.machine.error
        if self.state is not TransactionManagerState.ABORTABLE_ERROR:
            self._ensure_no_error()
        manager.transition_to(TransactionManagerState.ABORTING)
        manager.drop_pending_additions()
        manager.abort_unsent(error)
        ending = None if manager.unmapped else manager.enqueue(EndTxn(manager.own, commit=False))
        # A coordinator that has forgotten the producer takes no EndTxn, only a new start.
        if ending is None or manager.bump_wanted:
            return manager.enqueue(InitProducerId(manager.own, bump=True))
        return ending

    async def _begin_or_repeat(self, call: str, begin: Callable[[], AwaitedResult]) -> None:
        if self._pending is None:
            self._pending = (call, begin())
            self._wake()
        elif self._pending[0] != call:
            raise self._make_pending_error(call)
        await self._wait(call, self._pending[1])

    async def _wait(self, call: str, result: AwaitedResult) -> None:
        try:
            await result.wait(self._clock, self._max_block_ms, call)
        finally:
            if result.ended:
                self._pending = None

    def _make_pending_error(self, call: str) -> WrongState:
        assert self._pending is not None
        return WrongState(f"{self._pending[0]} did not end in time and has to be called again, not {call}")

    def _ensure_no_error(self) -> None:
        if self._manager.machine.has_error:
            assert self._manager.machine.error is not None
            raise self._manager.machine.error

    def _ensure_ready(self, call: str) -> None:
        if self._pending is not None:
            raise self._make_pending_error(call)
        self._ensure_no_error()
