"""The states of a transactional producer, and which may follow which.

    from                  to
    UNINITIALIZED         INITIALIZING
    INITIALIZING          READY  ABORTABLE_ERROR
    READY                 IN_TRANSACTION
    IN_TRANSACTION        COMMITTING  ABORTING  ABORTABLE_ERROR
    COMMITTING            READY  ABORTABLE_ERROR
    ABORTING              READY  INITIALIZING
    ABORTABLE_ERROR       ABORTING  UNINITIALIZED  ABORTABLE_ERROR
    FATAL_ERROR           -
    any                   FATAL_ERROR

ABORTING -> INITIALIZING: the transaction is over, and the epoch has to be raised before the next one.
ABORTABLE_ERROR -> UNINITIALIZED: the id was refused for want of rights; `init_transactions` may be tried again.
Source: Kafka 3.9, TransactionManager.State.
"""

from enum import Enum, auto

from ..errors import ProducerError, WrongState


class TransactionManagerState(Enum):
    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING = auto()
    ABORTING = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


NEXT: dict[TransactionManagerState, frozenset[TransactionManagerState]] = {
    TransactionManagerState.UNINITIALIZED: frozenset({TransactionManagerState.INITIALIZING}),
    TransactionManagerState.INITIALIZING: frozenset(
        {TransactionManagerState.READY, TransactionManagerState.ABORTABLE_ERROR}
    ),
    TransactionManagerState.READY: frozenset({TransactionManagerState.IN_TRANSACTION}),
    TransactionManagerState.IN_TRANSACTION: frozenset(
        {TransactionManagerState.COMMITTING, TransactionManagerState.ABORTING, TransactionManagerState.ABORTABLE_ERROR}
    ),
    TransactionManagerState.COMMITTING: frozenset(
        {TransactionManagerState.READY, TransactionManagerState.ABORTABLE_ERROR}
    ),
    TransactionManagerState.ABORTING: frozenset({TransactionManagerState.READY, TransactionManagerState.INITIALIZING}),
    TransactionManagerState.ABORTABLE_ERROR: frozenset(
        {
            TransactionManagerState.ABORTING,
            TransactionManagerState.UNINITIALIZED,
            TransactionManagerState.ABORTABLE_ERROR,
        }
    ),
    TransactionManagerState.FATAL_ERROR: frozenset(),
}
COMPLETING = frozenset({TransactionManagerState.COMMITTING, TransactionManagerState.ABORTING})
ERRORS = frozenset({TransactionManagerState.ABORTABLE_ERROR, TransactionManagerState.FATAL_ERROR})


class TransactionStateMachine:
    """The state of one producer, and the error that it is in."""

    def __init__(self) -> None:
        self.state = TransactionManagerState.UNINITIALIZED
        self.error: ProducerError | None = None

    def transition_to(self, target: TransactionManagerState, error: ProducerError | None = None) -> None:
        """Raises: WrongState, and nothing has changed, where the table has no such step."""
        if target is not TransactionManagerState.FATAL_ERROR and target not in NEXT[self.state]:
            raise WrongState(f"a producer that is {self.state.name} cannot become {target.name}")
        self.state, self.error = target, error

    @property
    def is_completing(self) -> bool:
        return self.state in COMPLETING

    @property
    def has_error(self) -> bool:
        return self.state in ERRORS
