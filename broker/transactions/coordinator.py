"""The transaction coordinator: the single entry point for all requests about transactional ids (KIP-98, 360, 588, 664,
890).

Every change goes to `__transaction_state` first. EndTxn is answered once its decision is written; the markers follow,
for a few partitions in the same turn of the loop. After a restart the coordinator writes the missing markers of decided
transactions, and leaves open ones to their producers or timeouts.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ...network.admission.peer_log_limit import PeerLogLimit
from ...network.sasl.mechanism import quote_for_log
from ...protocol.coordinator.transaction_log import TransactionRecord
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.plural import describe_age, describe_duration
from ...storage.producers.producer_states import highest_producer_id
from ..metadata.image import Topic
from ..metadata.partition import Partition
from ..metadata.topic_rules import TRANSACTION_TOPIC
from ..scheduling.periodic_task import Periodic
from .markers import MarkerWriter
from .registry import TransactionRegistry
from .state_topic import StateTopic
from .transaction import TopicPartition, Transaction, TransactionMetadata, is_exhausted
from .transaction_completer import TransactionCompleter
from .transaction_loading import TransactionLoading
from .transaction_status import PREPARED, TransactionStatus, end_txn_error

if TYPE_CHECKING:
    from ..core import Core
    from ..groups.coordinator import GroupCoordinator
    from ..metadata.topics import Topics

TOMBSTONES_A_BATCH = 100
EXPIRY_WRITE_TIMEOUT_MS = 30_000
KEY_CHARACTERS = 64
RESULTS: Final = {TransactionStatus.COMPLETE_COMMIT: "committed", TransactionStatus.COMPLETE_ABORT: "aborted"}

log = logging.getLogger(__name__)


class TransactionCoordinator:
    """The transactional ids of one broker."""

    def __init__(
        self,
        core: "Core",
        topics: "Topics",
        groups: "Callable[[], GroupCoordinator]",
        markers_of: Callable[[int], MarkerWriter | None] = lambda _: None,
    ) -> None:
        """`groups` returns the group coordinator, and starts it if need be; `markers_of` the marker writer of a
        broker.
        """
        self._topics = topics
        self._groups = groups
        self.transactions = TransactionRegistry()
        self.markers = MarkerWriter(core, groups, markers_of)
        self._core = core
        self._topic = StateTopic(core, topics)
        self._completer = TransactionCompleter(core, self._topic, self.markers, self.write)
        self._loading = TransactionLoading(
            core.rounds,
            self._topic,
            self.transactions,
            self._skip_producer_ids_in_log,
            self._complete_decided_transactions,
        )
        self._periodic: list[Periodic] = []
        self._lines = PeerLogLimit(core.clock)
        self._is_active = False

    # Life

    def start(self) -> None:
        """Begins to load the stored transactions; requests are answered from now on."""
        settings, clock = self._core.settings, self._core.clock
        self._is_active = True
        self._topics.on_deleted.append(self._on_topic_deletions)
        self._topics.on_epoch.append(self._on_leader_change)
        self._loading.start()
        abort_ms = settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        expire_ms = settings.transaction_remove_expired_transaction_cleanup_interval_ms
        self._periodic = [
            Periodic("transaction timeouts", clock, self.abort_timed_out, abort_ms),
            Periodic("transactional id expiry", clock, self.remove_expired_ids, expire_ms),
        ]

    async def await_loading(self) -> None:
        """Returns when all stored transactions are loaded."""
        await self._loading.wait()

    async def await_markers(self) -> None:
        """Returns when every decided transaction has its markers."""
        await self._completer.wait()

    def hold_markers(self) -> None:
        """Leaves decided transactions without markers, so that tests can look at that state."""
        self._completer.gate.clear()

    def release_markers(self) -> None:
        self._completer.gate.set()

    async def stop(self) -> None:
        """Writes no more markers; missing ones are written after the next start."""
        self._is_active = False
        for task in self._periodic:
            await task.stop()
        await self._loading.stop()
        await self._completer.stop()

    async def _complete_decided_transactions(self, partitions: Sequence[int]) -> None:
        """Completes decided transactions of these partitions, once the groups are loaded: markers may commit
        offsets.
        """
        await self._groups().await_loading()
        for transaction in self.transactions:
            with self._core.rounds.catch_item_fault("completion", transaction.transactional_id):
                if transaction.now.state.is_prepared and self._index_of(transaction) in partitions:
                    self._completer.begin(transaction)

    def _index_of(self, transaction: Transaction) -> int:
        return self._topic.partition_of(transaction.transactional_id)

    def _on_leader_change(self, partition: Partition) -> None:
        """Forgets the ids of a partition that has a new leader, and loads them if that is this broker."""
        if partition.topic_name != TRANSACTION_TOPIC:
            return
        index = partition.index
        self._loading.cancel(index)
        for transaction in self.transactions:
            if self._index_of(transaction) == index:
                self.transactions.remove(transaction.transactional_id)
        if self._topic.has_records(index):
            self._loading.load([index])

    def _skip_producer_ids_in_log(self) -> None:
        """Makes sure that producer ids in the log are not given out again."""
        highest = highest_producer_id(transaction.now.producer_id for transaction in self.transactions)
        store = self._topics.store
        if highest >= store.state.next_producer_id:
            store.skip_producer_ids_below(highest + 1)
            store.save(sync=False)

    def _on_topic_deletions(self, topics: Sequence[Topic]) -> None:
        if any(topic.name == TRANSACTION_TOPIC for topic in topics):
            self._forget_all()

    def _forget_all(self) -> None:
        """Forgets all transactions, since their topic was deleted."""
        self._loading.cancel_all()
        self.transactions.clear()

    # What may be asked

    def check_answerable(self, transactional_id: str) -> None:
        """Raises: ApiError 42, 15, 16 or 14 when requests for the id cannot be answered here and now."""
        if not transactional_id:
            raise ApiError("the transactional id is empty", ErrorCode.INVALID_REQUEST)
        if not self._is_active:
            raise ApiError("the transaction coordinator does not run", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        index = self._topic.partition_of(transactional_id)
        if self._loading.is_loading(index):
            raise ApiError(f"{TRANSACTION_TOPIC}-{index} is being loaded", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._topic.led_partition(index)

    def is_loading(self) -> bool:
        return self._loading.is_on

    async def _find(self, transactional_id: str, producer_id: int, producer_epoch: int) -> Transaction:
        if not self._topic.exists:
            await self._topic.ensure()
        self.check_answerable(transactional_id)
        found = self.transactions.find(transactional_id)
        if found is None:
            message = f"there is no transactional id {transactional_id!r}"
            raise ApiError(message, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        found.check_producer(producer_id, producer_epoch)
        return found

    def find(self, transactional_id: str) -> Transaction:
        """The state of an id. Raises: ApiError TRANSACTIONAL_ID_NOT_FOUND and those of `check_answerable`."""
        self.check_answerable(transactional_id)
        found = self.transactions.find(transactional_id)
        if found is None or (found.pending is not None and found.pending.state is TransactionStatus.DEAD):
            message = f"there is no transactional id {transactional_id!r}"
            raise ApiError(message, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return found

    # Writing

    async def write(self, transaction: Transaction, following: TransactionMetadata) -> None:
        """Writes the next state to the log, then puts it into force. Raises: ApiError, and keeps the old state."""
        transaction.begin_transition(following)
        transactional_id = transaction.transactional_id
        record = TransactionRecord(transactional_id=transactional_id, value=following.as_value())
        try:
            await self._topic.write(self._topic.partition_of(transactional_id), [record], following.timeout_ms)
        except BaseException:
            transaction.cancel_transition()
            raise
        transaction.complete_transition()
        if following.state in RESULTS:
            self._core.metrics.transactions.of(RESULTS[following.state]).add()

    # Producers

    async def init_producer(
        self, transactional_id: str, timeout_ms: int, former: tuple[int, int] | None
    ) -> tuple[int, int]:
        """Returns the producer id and epoch, after aborting an open transaction of the former producer.

        `former` is the producer id and epoch that the request names.

        Raises: ApiError CONCURRENT_TRANSACTIONS while the former transaction ends, PRODUCER_FENCED, 50, 42, 14, 15, 16.
        """
        if not transactional_id:
            raise ApiError("the transactional id is empty", ErrorCode.INVALID_REQUEST)
        longest_ms = self._core.settings.transaction_max_timeout_ms
        if not 0 < timeout_ms <= longest_ms:
            message = f"a transaction timeout of {timeout_ms} ms, which has to lie between 1 and {longest_ms}"
            raise ApiError(message, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        await self._topic.ensure()
        self.check_answerable(transactional_id)
        transaction = self.transactions.find(transactional_id)
        if transaction is None:
            producer_id = self._core.cluster.next_producer_id()
            now_ms = self._core.clock.now_ms()
            transaction = self.transactions.add(transactional_id, producer_id, timeout_ms, now_ms)
        transaction.check_not_pending()
        if former is not None:
            transaction.check_producer_of_init(*former)
        transaction.check_not_completing()
        if transaction.now.state is TransactionStatus.ONGOING:
            await self._fence_and_abort(transaction)
            message = f"the open transaction of {transactional_id} is being aborted"
            raise ApiError(message, ErrorCode.CONCURRENT_TRANSACTIONS)
        expected_epoch = None if former is None else former[1]
        await self.write(transaction, self._prepare_new_producer(transaction, expected_epoch, timeout_ms))
        return transaction.now.producer_id, transaction.now.producer_epoch

    def _prepare_new_producer(
        self, transaction: Transaction, expected_epoch: int | None, timeout_ms: int
    ) -> TransactionMetadata:
        now_ms, epoch = self._core.clock.now_ms(), transaction.now.producer_epoch
        if is_exhausted(epoch) and expected_epoch in (None, epoch):
            producer_id = self._core.cluster.next_producer_id()
            is_named = expected_epoch is not None
            return transaction.prepare_new_producer_id(producer_id, timeout_ms, now_ms, keep_last_epoch=is_named)
        return transaction.prepare_next_epoch(expected_epoch, timeout_ms, now_ms)

    async def _fence_and_abort(self, transaction: Transaction) -> None:
        await self.write(transaction, transaction.prepare_fence(self._core.clock.now_ms()))
        self._completer.begin(transaction)

    # Transactions

    async def add_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> None:
        """Returns when the partitions are part of the transaction. Raises: ApiError 49, 90, 51, 42, 14, 15, 16."""
        transaction = await self._find(transactional_id, producer_id, producer_epoch)
        transaction.check_not_pending()
        transaction.check_not_completing()
        added = frozenset(partitions)
        if transaction.now.state is TransactionStatus.ONGOING and added <= transaction.now.partitions:
            return
        await self.write(transaction, transaction.with_partitions(added, self._core.clock.now_ms()))

    def verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether each partition is part of the open transaction: NONE or TRANSACTION_ABORTABLE.

        Raises: ApiError 49, 90, 51, 42, 14, 15, 16.
        """
        self.check_answerable(transactional_id)
        transaction = self.transactions.find(transactional_id)
        if transaction is None:
            message = f"there is no transactional id {transactional_id!r}"
            raise ApiError(message, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        transaction.check_producer(producer_id, producer_epoch)
        transaction.check_not_completing()
        present = transaction.now.partitions
        return {each: ErrorCode.NONE if each in present else ErrorCode.TRANSACTION_ABORTABLE for each in partitions}

    async def end(self, transactional_id: str, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Returns when the decision is in the log, where it may be already.

        Raises: ApiError 48, 49, 90, 51, 42, 14, 15, 16.
        """
        transaction = await self._find(transactional_id, producer_id, producer_epoch)
        transaction.check_not_pending()
        state = transaction.now.state
        if state is not TransactionStatus.ONGOING:
            answer = end_txn_error(state, committed=committed)
            if answer:
                wanted = "commit" if committed else "abort"
                raise ApiError(f"{transactional_id} is {state.label}: nothing to {wanted}", answer)
            return
        await self.write(
            transaction, transaction.prepare_commit_or_abort(PREPARED[committed], self._core.clock.now_ms())
        )
        self._completer.begin(transaction)
        await asyncio.sleep(0)

    # Periodic

    async def abort_timed_out(self) -> None:
        """Aborts transactions that are open for longer than their timeout, and fences their producers."""
        turn = self._core.turns.begin()
        for transaction in self.transactions:
            with self._core.rounds.catch_item_fault("transaction timeouts", transaction.transactional_id):
                if transaction.has_timed_out(self._core.clock.now_ms()):
                    await self._abort_timed_out(transaction)
            await turn.next()

    async def _abort_timed_out(self, transaction: Transaction) -> None:
        name, timeout_ms = transaction.transactional_id, transaction.now.timeout_ms
        line = f"the transaction of {quote_for_log(name)} is open for more than {timeout_ms} ms and is aborted"
        self._lines.log_info(log, name[:KEY_CHARACTERS], line)
        open_ms = self._core.clock.now_ms() - transaction.now.start_ms
        await self._fence_and_abort(transaction)
        self._core.metrics.transactions_timed_out.add()
        self._core.on_due(
            f"transaction {quote_for_log(name)}: open for {describe_age(open_ms)}, "
            f"its timeout is {describe_duration(timeout_ms)}: aborted"
        )

    async def remove_expired_ids(self) -> None:
        """Forgets ids that were not used for `transactional.id.expiration.ms`."""
        expired: dict[int, list[Transaction]] = {}
        turn = self._core.turns.begin()
        for transaction in self.transactions:
            with self._core.rounds.catch_item_fault("transactional id expiry", transaction.transactional_id):
                if self._has_expired(transaction):
                    expired.setdefault(self._index_of(transaction), []).append(transaction)
            await turn.next()
        for index, gone in expired.items():
            for at in range(0, len(gone), TOMBSTONES_A_BATCH):
                with self._core.rounds.catch_item_fault("transactional id expiry", f"{TRANSACTION_TOPIC}-{index}"):
                    await self._remove(index, gone[at : at + TOMBSTONES_A_BATCH])
                await turn.next()

    def _has_expired(self, transaction: Transaction) -> bool:
        expiration_ms = self._core.settings.transactional_id_expiration_ms
        return transaction.has_expired(self._core.clock.now_ms(), expiration_ms)

    async def _remove(self, index: int, expired: Sequence[Transaction]) -> None:
        """Deletes those of the ids that are still expired: a producer may have used some since they were found."""
        gone = []
        for transaction in expired:
            with self._core.rounds.catch_item_fault("transactional id expiry", transaction.transactional_id):
                if self._has_expired(transaction):
                    transaction.begin_transition(transaction.as_dead())
                    gone.append(transaction)
        records = [TransactionRecord(transactional_id=each.transactional_id, value=None) for each in gone]
        if not records:
            return
        try:
            await self._topic.write(index, records, EXPIRY_WRITE_TIMEOUT_MS)
        finally:
            for transaction in gone:
                transaction.cancel_transition()
        for transaction in gone:
            self.transactions.remove(transaction.transactional_id)
