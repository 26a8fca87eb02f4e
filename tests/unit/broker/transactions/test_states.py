"""The tables: what may follow what, and what the end of a transaction is answered."""

import pytest
from stepdown.broker.transactions.states import MAY_FOLLOW, State, end_answer, find_state
from stepdown.protocol.errors import ErrorCode

BUSY, WRONG, NONE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (State.EMPTY, WRONG, WRONG),
        (State.PREPARE_COMMIT, BUSY, WRONG),
        (State.PREPARE_ABORT, WRONG, BUSY),
        (State.COMPLETE_COMMIT, NONE, WRONG),
        (State.COMPLETE_ABORT, WRONG, NONE),
    ],
)
def test_the_end_of_a_transaction_is_answered_as_kafka_does(state: State, commit: int, abort: int) -> None:
    assert (end_answer(state, committed=True), end_answer(state, committed=False)) == (commit, abort)


def test_every_state_has_its_predecessors() -> None:
    assert set(MAY_FOLLOW) == set(State)
    assert MAY_FOLLOW[State.COMPLETE_COMMIT] == {State.PREPARE_COMMIT}
    assert State.EMPTY not in MAY_FOLLOW[State.PREPARE_COMMIT]


def test_states_are_called_as_kafka_calls_them() -> None:
    assert [state.label for state in State] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert find_state("PrepareAbort") is State.PREPARE_ABORT
    assert find_state("prepareabort") is None
