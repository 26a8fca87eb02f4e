"""ListTransactions (key 66), versions 0–1, flexible in all: lists transactions (KIP-664). v1 filters by duration."""

from collections.abc import Sequence

from ..schema import array, int16, int32, int64, message, string, struct


@message(versions="0-1", flexible="0+")
class ListTransactionsRequest:
    """Filters."""

    state_filters: Sequence[str] = array(string)
    producer_id_filters: Sequence[int] = array(int64)
    duration_filter: int = int64("1+", default=-1)


@struct
class TransactionState:
    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


@message(versions="0-1", flexible="0+")
class ListTransactionsResponse:
    """The transactions found."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: Sequence[str] = array(string)
    transaction_states: Sequence[TransactionState] = array(TransactionState)
