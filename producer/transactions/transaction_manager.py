"""The transactional requests of a producer: which goes next, and what the answers make of its state.

One request is open at a time, the lowest `order` first: FindCoordinator, InitProducerId, AddPartitionsToTxn with the
offsets' requests, EndTxn, and InitProducerId to raise the epoch after an abort. A partition is added before the first
batch goes to it. EndTxn waits until no batch is open, and is left out when nothing was ever added.
`state.py` has the states, `requests.py` what answers mean. Source: Kafka 3.9, TransactionManager. Unlike Kafka, whose
single sender thread waits for such a request, Produce requests go on meanwhile.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from ...config.keys.endpoints import HostPort
from ...protocol.errors import ErrorCode
from ..accumulator.producer_batch import TopicPartition
from ..accumulator.sequence_numbers import ProducerIdAndEpoch
from ..awaited_result import AwaitedResult
from ..clock import NEVER_MS
from ..errors import FATAL_CODES, Fenced, ProducerError, TransactionAborted, WrongState, error_of
from ..sender.call_source import Call, CallSource
from ..sender.network_interface import NetworkAnswer
from ..settings import ProducerSettings
from .requests import (
    TRANSACTION,
    AddOffsets,
    AddPartitions,
    CommitOffsets,
    Coordinator,
    EndTxn,
    FindCoordinator,
    InitProducerId,
    RequestVerdict,
    TransactionalIdentity,
    TransactionRequest,
)
from .state import TransactionManagerState, TransactionStateMachine
from .transactional_sequences import TransactionalSequences

BUMP_SINCE = 3
"""The version of InitProducerId from which a coordinator raises an epoch."""

FIRST_ADD_BACKOFF_MS = 20
"""The previous transaction often ends moments after the next one adds its first partition: try that again soon."""


class Batches(Protocol):
    """The part of the batches that transactions use."""

    def has_open_batches(self) -> bool: ...
    def abort_unsent(self, error: ProducerError) -> None: ...
    def skip_linger(self, on: bool) -> None: ...


class TransactionManager(CallSource):
    """The transactions of one producer."""

    sequences: TransactionalSequences

    def __init__(self, settings: ProducerSettings, now: Callable[[], int]) -> None:
        assert settings.transactional_id is not None
        self.sequences = TransactionalSequences()
        self.machine = TransactionStateMachine()
        self.batches: Batches
        self._settings, self._now, self._id = settings, now, settings.transactional_id
        self.own: Coordinator = (TRANSACTION, self._id)
        self._coordinators: dict[Coordinator, tuple[int, HostPort]] = {}
        self._queue: list[TransactionRequest] = []
        self._head: TransactionRequest | None = None
        self._open: TransactionRequest | None = None
        self._new: set[TopicPartition] = set()
        self._adding: set[TopicPartition] = set()
        self._started = self._can_bump = self.bump_wanted = self.unmapped = self._aborting = False

    # --- what the application's calls ask -----------------------------------------------------------------------------

    def enqueue(self, request: TransactionRequest) -> AwaitedResult:
        self._queue.append(request)
        return request.result

    def transition_to(self, state: TransactionManagerState, error: ProducerError | None = None) -> None:
        """Raises: WrongState where that step is not allowed."""
        was = self.machine.is_completing
        self.machine.transition_to(state, error)
        if was != self.machine.is_completing:
            self.batches.skip_linger(self.machine.is_completing)

    def drop_pending_additions(self) -> None:
        """Drops partitions not yet added, and fails offset commits not yet accepted.

        Kafka 3.9 retries the offsets until they are accepted; for a missing topic that is for ever.
        """
        self._new.clear()
        for request in [request for request in self._queue if isinstance(request, CommitOffsets)]:
            self._queue.remove(request)
            request.result.fail(self._make_abort_error())

    def _make_abort_error(self) -> TransactionAborted:
        return TransactionAborted(f"the transaction of {self._id} was aborted")

    def enter_fatal_error(self, error: ProducerError) -> None:
        """Ends the producer, and every call that waits."""
        if self.fatal is not None:
            return
        self.fatal = error
        self.transition_to(TransactionManagerState.FATAL_ERROR, error)
        queue, self._queue = self._queue, []
        for request in (*queue, *([self._open] if self._open is not None else [])):
            request.result.fail(error)

    def abort_unsent(self, error: ProducerError | None) -> None:
        """Fails what no broker has been sent yet."""
        self._aborting = True
        self.batches.abort_unsent(error or self._make_abort_error())
        self._aborting = False

    def refusal(self) -> ProducerError | None:
        if self.machine.has_error:
            return self.machine.error
        if self.machine.state is not TransactionManagerState.IN_TRANSACTION:
            raise WrongState(f"records need a transaction: the producer is {self.machine.state.name}")
        return None

    # --- what the sender asks -----------------------------------------------------------------------------------------

    def prepare(self) -> None:
        if self.fatal is None and self.sequences.resolve_and_find_gap():
            text = "records expired after they were sent, so they may be written or not"
            self._enter_error(ProducerError(f"{text}: the transaction has to be aborted"))

    def next_call(self, now_ms: int) -> Call | None:
        """Same as that of `CallSource`. It also fails batches not yet sent after an error or in an abort, and enqueues
        AddPartitions for the partitions that records have gone to since."""
        self._head = None
        if self.machine.state in (TransactionManagerState.ABORTABLE_ERROR, TransactionManagerState.ABORTING):
            self.abort_unsent(self.machine.error)
        if self._open is not None or self.fatal is not None:
            return None
        if self._new:
            self._adding |= self._new
            self._new.clear()
            self.enqueue(AddPartitions(self.own, frozenset(self._adding)))
        request = self._next_request()
        if request is None or request.again_ms > now_ms:
            return None
        self._head = request
        nodes = None
        if request.coordinator is not None:
            node_id, address = self._coordinators[request.coordinator]
            nodes = {node_id: address}
        return Call(
            key=request.key,
            request=partial(self._make_message, request),
            done=partial(self._handle_answer, request),
            versions=request.versions,
            nodes=nodes,
        )

    def ms_to_next_call(self, now_ms: int) -> int:
        if self._open is not None or not self._queue:
            return NEVER_MS
        again_ms = min(self._queue, key=_order).again_ms
        return again_ms - now_ms if again_ms > now_ms else NEVER_MS

    def begin_call(self, now_ms: int) -> None:
        assert self._head is not None
        self._open = self._head
        self._open.waits_since_ms = None
        self._queue.remove(self._head)

    def note_no_ready_node(self, now_ms: int) -> None:
        """Notes that the coordinator's node takes no request now. Once that has lasted `reconnect_backoff_max_ms`, the
        coordinator is looked up again."""
        request = self._head
        if request is None or request.coordinator is None:
            return
        if request.waits_since_ms is None:
            request.waits_since_ms = now_ms
        elif now_ms - request.waits_since_ms >= self._settings.reconnect_backoff_max_ms:
            request.waits_since_ms = None
            self._coordinators.pop(request.coordinator, None)

    def note_unsupported_version(self, call: Call) -> None:
        low = f" v{call.versions[0]}" if call.versions[0] else ""
        self.enter_fatal_error(error_of(ErrorCode.UNSUPPORTED_VERSION, f"the broker has no {call.key.name}{low}"))

    def add_partition(self, topic: str, partition: int) -> None:
        place = (topic, partition)
        if (
            self.machine.state is TransactionManagerState.IN_TRANSACTION
            and place not in self.sequences.partitions | self._adding
        ):
            self._new.add(place)

    def handle_failed_batch(self, error: ProducerError) -> None:
        if self._aborting or self.fatal is not None:
            return
        if error.code in FATAL_CODES:
            self.enter_fatal_error(error)
        else:
            self._enter_error(error, bump=self._can_bump and not self.machine.is_completing, needs_bump=False)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _next_request(self) -> TransactionRequest | None:
        """Returns the next request to send. Completes or fails those before it that no longer apply, and enqueues
        FindCoordinator where a coordinator is not known."""
        while self._queue:
            request = min(self._queue, key=_order)
            if isinstance(request, EndTxn) and self.batches.has_open_batches():
                return None
            if self.machine.has_error and not isinstance(request, FindCoordinator):
                self._queue.remove(request)
                assert self.machine.error is not None
                request.result.fail(self.machine.error)
            elif isinstance(request, EndTxn) and not self._started:
                self._queue.remove(request)
                self._complete()
                request.result.succeed()
            elif request.coordinator is not None and request.coordinator not in self._coordinators:
                self.enqueue(FindCoordinator(request.coordinator))
            else:
                return request
        return None

    def _make_message(self, request: TransactionRequest, version: int) -> object:
        if isinstance(request, InitProducerId):
            self._can_bump = version >= BUMP_SINCE
        return request.build_request(
            version, TransactionalIdentity(self._id, self._settings.transaction_timeout_ms, self.sequences.identity)
        )

    def _handle_answer(self, request: TransactionRequest, answer: NetworkAnswer) -> None:
        self._open = None
        if self.fatal is not None:
            return
        if answer.failure is not None:
            verdict, code = RequestVerdict.LOOK_UP, answer.failure
        else:
            verdict, code = request.verdict_on(answer.response)
        match verdict:
            case RequestVerdict.DONE:
                self._handle_success(request, answer)
            case RequestVerdict.LOOK_UP | RequestVerdict.AGAIN:
                self._retry_request(request, code, look_up=verdict is RequestVerdict.LOOK_UP)
            case _:
                self._handle_refusal(request, verdict, code)

    def _retry_request(self, request: TransactionRequest, code: ErrorCode, *, look_up: bool) -> None:
        if isinstance(request, CommitOffsets) and self.machine.state is TransactionManagerState.ABORTING:
            request.result.fail(self._make_abort_error())
            return
        if look_up and request.coordinator is not None:
            self._coordinators.pop(request.coordinator, None)
        delay_ms = self._settings.retry_backoff_ms
        first = isinstance(request, AddPartitions) and not self.sequences.partitions
        if first and code is ErrorCode.CONCURRENT_TRANSACTIONS:
            delay_ms = min(delay_ms, FIRST_ADD_BACKOFF_MS)
        request.again_ms = self._now() + delay_ms
        self._queue.append(request)

    def _handle_refusal(self, request: TransactionRequest, verdict: RequestVerdict, code: ErrorCode) -> None:
        error = error_of(code, f"{request.key.name} for {self._id} was refused: {code.name}")
        if verdict is RequestVerdict.FENCED:
            error = Fenced(f"another producer has taken {self._id} over: {code.name}")
        if isinstance(request, EndTxn) and not request.commit and verdict is RequestVerdict.BUMP and self._can_bump:
            # Kafka 3.9 gives up here. The coordinator has nothing to abort, so only the new start is left.
            if not self.bump_wanted:
                self.enqueue(InitProducerId(self.own, bump=True, result=request.result))
            return
        aborting = self.machine.state is TransactionManagerState.ABORTING
        if verdict in (RequestVerdict.FENCED, RequestVerdict.FATAL) or (
            aborting and isinstance(request, EndTxn | InitProducerId)
        ):
            self.enter_fatal_error(error)
        elif not aborting:
            self.unmapped |= code is ErrorCode.INVALID_PRODUCER_ID_MAPPING
            self._enter_error(
                error, bump=verdict is RequestVerdict.BUMP and self._can_bump, needs_bump=verdict is RequestVerdict.BUMP
            )
            if verdict is RequestVerdict.REFUSED and self.fatal is None:
                self.transition_to(TransactionManagerState.UNINITIALIZED)
        request.result.fail(error)

    def _handle_success(self, request: TransactionRequest, answer: NetworkAnswer) -> None:
        match request:
            case FindCoordinator():
                found = request.coordinator_in(answer.response)
                self._coordinators[request.wanted] = (found.node_id, HostPort(found.host, found.port))
            case InitProducerId():
                self.sequences.set_producer_id_and_epoch(
                    ProducerIdAndEpoch(answer.response.producer_id, answer.response.producer_epoch)
                )
                self.bump_wanted = False
                self._complete()
            case AddPartitions():
                self._adding -= request.partitions
                self.sequences.partitions |= request.partitions
                self._started = True
            case AddOffsets():
                self._started = True
                if self.machine.state is TransactionManagerState.ABORTING:
                    request.result.fail(self._make_abort_error())
                else:
                    self.enqueue(CommitOffsets(request))
                return
            case EndTxn():
                self._complete()
        request.result.succeed()

    def _complete(self) -> None:
        """Ends a transaction or an initialization. The producer is ready then, or has to raise its epoch first."""
        self.sequences.partitions.clear()
        self._new.clear()
        self._adding.clear()
        self._started = self.unmapped = False
        self.transition_to(TransactionManagerState.INITIALIZING if self.bump_wanted else TransactionManagerState.READY)

    def _enter_error(self, error: ProducerError, *, bump: bool = True, needs_bump: bool = True) -> None:
        """Only an abort is possible now; `bump`: the epoch is raised after it. `needs_bump`: the error is fatal if the
        coordinator cannot raise the epoch."""
        if needs_bump and not self._can_bump:
            self.enter_fatal_error(error)
            return
        if self.machine.state in (
            TransactionManagerState.IN_TRANSACTION,
            TransactionManagerState.COMMITTING,
            TransactionManagerState.INITIALIZING,
        ):
            self.transition_to(TransactionManagerState.ABORTABLE_ERROR, error)
        if self.machine.state is TransactionManagerState.ABORTABLE_ERROR:
            self.bump_wanted |= bump


def _order(request: TransactionRequest) -> int:
    return request.order
