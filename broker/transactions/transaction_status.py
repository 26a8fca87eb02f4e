"""The states of a transaction, as tables: which may follow which, and the error of EndTxn in each.

    state              may follow
    Empty              Empty, CompleteCommit, CompleteAbort      InitProducerId
    Ongoing            Ongoing, Empty, CompleteCommit, -Abort    AddPartitionsToTxn, AddOffsetsToTxn
    PrepareCommit      Ongoing                                   EndTxn
    PrepareAbort       Ongoing, PrepareEpochFence                EndTxn, timeout, InitProducerId
    CompleteCommit     PrepareCommit                             all markers are written
    CompleteAbort      PrepareAbort                              all markers are written
    Dead               Empty, CompleteCommit, CompleteAbort      the transactional id has expired
    PrepareEpochFence  Ongoing                                   not entered: here fence and PrepareAbort are one step

    asked to           commit                    abort
    Ongoing            PrepareCommit, then 0     PrepareAbort, then 0
    PrepareCommit      CONCURRENT_TRANSACTIONS   INVALID_TXN_STATE
    PrepareAbort       INVALID_TXN_STATE         CONCURRENT_TRANSACTIONS
    CompleteCommit     0, it is done already     INVALID_TXN_STATE
    CompleteAbort      INVALID_TXN_STATE         0, it is done already
    Empty              INVALID_TXN_STATE         INVALID_TXN_STATE

Source: Kafka 3.9, TransactionState and TransactionCoordinator.endTransaction. `__transaction_state` stores their
numbers.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from ...protocol.errors import ErrorCode


class TransactionStatus(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """The name that clients see: `PrepareCommit`."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """Whether it is decided, with markers still to be written."""
        return self in (TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open or undone; a transactional id expires only in such a state."""
        return self in _IDLE


_IDLE: Final = frozenset({TransactionStatus.EMPTY, TransactionStatus.COMPLETE_COMMIT, TransactionStatus.COMPLETE_ABORT})

MAY_FOLLOW: Final[Mapping[TransactionStatus, frozenset[TransactionStatus]]] = {
    TransactionStatus.EMPTY: _IDLE,
    TransactionStatus.ONGOING: _IDLE | {TransactionStatus.ONGOING},
    TransactionStatus.PREPARE_COMMIT: frozenset({TransactionStatus.ONGOING}),
    TransactionStatus.PREPARE_ABORT: frozenset({TransactionStatus.ONGOING, TransactionStatus.PREPARE_EPOCH_FENCE}),
    TransactionStatus.COMPLETE_COMMIT: frozenset({TransactionStatus.PREPARE_COMMIT}),
    TransactionStatus.COMPLETE_ABORT: frozenset({TransactionStatus.PREPARE_ABORT}),
    TransactionStatus.DEAD: _IDLE,
    TransactionStatus.PREPARE_EPOCH_FENCE: frozenset({TransactionStatus.ONGOING}),
}

# What follows a decision, and the codes that answer it in states other than Ongoing.
PREPARED: Final[Mapping[bool, TransactionStatus]] = {
    True: TransactionStatus.PREPARE_COMMIT,
    False: TransactionStatus.PREPARE_ABORT,
}
COMPLETE: Final[Mapping[TransactionStatus, TransactionStatus]] = {
    TransactionStatus.PREPARE_COMMIT: TransactionStatus.COMPLETE_COMMIT,
    TransactionStatus.PREPARE_ABORT: TransactionStatus.COMPLETE_ABORT,
}
END_COMMIT: Final[Mapping[TransactionStatus, ErrorCode]] = {
    TransactionStatus.PREPARE_COMMIT: ErrorCode.CONCURRENT_TRANSACTIONS,
    TransactionStatus.COMPLETE_COMMIT: ErrorCode.NONE,
}
END_ABORT: Final[Mapping[TransactionStatus, ErrorCode]] = {
    TransactionStatus.PREPARE_ABORT: ErrorCode.CONCURRENT_TRANSACTIONS,
    TransactionStatus.COMPLETE_ABORT: ErrorCode.NONE,
}


def end_txn_error(state: TransactionStatus, *, committed: bool) -> ErrorCode:
    """The error of EndTxn in a state other than Ongoing; NONE when the transaction has ended in that way already."""
    return (END_COMMIT if committed else END_ABORT).get(state, ErrorCode.INVALID_TXN_STATE)


def find_state(label: str) -> TransactionStatus | None:
    """The state with this label, the name that clients see."""
    return _BY_LABEL.get(label)


_BY_LABEL: Final = {state.label: state for state in TransactionStatus}
