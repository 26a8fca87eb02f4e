"""ListTransactions, versions 0-1 (KIP-664, 994): the transactional ids, those that pass all filters given.

States that do not exist are told back. v1 filters by the time, in ms, since the transaction began; as in Kafka, an id
that has not begun any counts as begun in 1970.
"""

from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from ..dispatch.call import Call
from ..transactions.states import State, state_named
from ..transactions.transaction import Transaction

if TYPE_CHECKING:
    from ..services import Services


def handle(broker: "Services", request: ListTransactionsRequest, call: Call) -> ListTransactionsResponse:
    if broker.transactions.is_loading():
        raise ApiError("the transactions are being loaded", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    now_ms = broker.clock.now_ms()
    return ListTransactionsResponse(
        unknown_state_filters=[name for name in dict.fromkeys(request.state_filters) if state_named(name) is None],
        transaction_states=[
            TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.now.producer_id,
                transaction_state=transaction.now.state.label,
            )
            for transaction in broker.transactions.transactions
            if _is_wanted(transaction, request, now_ms)
            and call.access.may_see(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transaction.transactional_id)
        ],
    )


def refuse(request: ListTransactionsRequest, error: ApiError, call: Call) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


def _is_wanted(transaction: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    now = transaction.now
    if transaction.pending is not None and transaction.pending.state is State.DEAD:
        return False
    if request.producer_id_filters and now.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and now.state.label not in request.state_filters:
        return False
    return request.duration_filter < 0 or now_ms - now.start_ms > request.duration_filter
