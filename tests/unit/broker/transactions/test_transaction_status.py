"""The tables: what may follow what, and what the end of a transaction is answered."""

import pytest
from stepdown.broker.transactions.transaction_status import MAY_FOLLOW, TransactionStatus, end_txn_error, find_state
from stepdown.protocol.errors import ErrorCode

BUSY, WRONG, NONE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (TransactionStatus.EMPTY, WRONG, WRONG),
        (TransactionStatus.PREPARE_COMMIT, BUSY, WRONG),
        (TransactionStatus.PREPARE_ABORT, WRONG, BUSY),
        (TransactionStatus.COMPLETE_COMMIT, NONE, WRONG),
        (TransactionStatus.COMPLETE_ABORT, WRONG, NONE),
    ],
)
def test_the_end_of_a_transaction_is_answered_as_kafka_does(state: TransactionStatus, commit: int, abort: int) -> None:
    assert (end_txn_error(state, committed=True), end_txn_error(state, committed=False)) == (commit, abort)


def test_every_state_has_its_predecessors() -> None:
    assert set(MAY_FOLLOW) == set(TransactionStatus)
    assert MAY_FOLLOW[TransactionStatus.COMPLETE_COMMIT] == {TransactionStatus.PREPARE_COMMIT}
    assert TransactionStatus.EMPTY not in MAY_FOLLOW[TransactionStatus.PREPARE_COMMIT]


def test_states_are_called_as_kafka_calls_them() -> None:
    assert [state.label for state in TransactionStatus] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert find_state("PrepareAbort") is TransactionStatus.PREPARE_ABORT
    assert find_state("prepareabort") is None
