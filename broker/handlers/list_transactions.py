"""ListTransactions, versions 0-1 (KIP-664, 994): the transactional ids that pass all filters given.

The answer names unknown states. v1 filters by the time, in ms, since the transaction began; as in Kafka, an id without
a transaction counts as begun in 1970.
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
from ..transactions.transaction import Transaction
from ..transactions.transaction_status import TransactionStatus, find_state

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: ListTransactionsRequest, call: Call) -> ListTransactionsResponse:
    if services.transactions.is_loading():
        raise ApiError("the transactions are being loaded", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    now_ms = services.clock.now_ms()
    states, producers = frozenset(request.state_filters), frozenset(request.producer_id_filters)
    listed = []
    for transaction in tuple(services.transactions.transactions):
        name = transaction.transactional_id
        if _is_wanted(transaction, states, producers, request.duration_filter, now_ms) and call.access.may_see(
            AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, name
        ):
            now = transaction.now
            listed.append(
                TransactionState(transactional_id=name, producer_id=now.producer_id, transaction_state=now.state.label)
            )
        await call.turn.next()
    unknown = [name for name in dict.fromkeys(request.state_filters) if find_state(name) is None]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=listed)


def refuse(request: ListTransactionsRequest, error: ApiError, call: Call) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


def _is_wanted(
    transaction: Transaction, states: frozenset[str], producers: frozenset[int], duration_ms: int, now_ms: int
) -> bool:
    now = transaction.now
    if transaction.pending is not None and transaction.pending.state is TransactionStatus.DEAD:
        return False
    if producers and now.producer_id not in producers:
        return False
    if states and now.state.label not in states:
        return False
    return duration_ms < 0 or now_ms - now.start_ms > duration_ms
