"""DescribeTransactions, version 0 (KIP-664): state, producer and partitions of transactional ids, each by itself and
once."""

from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError
from ...protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from ..dispatch.call import Call
from ..transactions.transaction import group_by_topic

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: DescribeTransactionsRequest, call: Call
) -> DescribeTransactionsResponse:
    names = dict.fromkeys(request.transactional_ids)
    return DescribeTransactionsResponse(
        transaction_states=await call.turn.map(lambda name: _describe(services, name, call), names)
    )


def refuse(request: DescribeTransactionsRequest, error: ApiError, call: Call) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_make_failure(transactional_id, error) for transactional_id in request.transactional_ids]
    )


def _describe(services: "Services", transactional_id: str, call: Call) -> TransactionState:
    try:
        now = services.transactions.find(transactional_id).now
    except ApiError as error:
        return _make_failure(transactional_id, error)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=now.state.label,
        transaction_timeout_ms=now.timeout_ms,
        transaction_start_time_ms=now.start_ms,
        producer_id=now.producer_id,
        producer_epoch=now.producer_epoch,
        topics=[
            TopicData(topic=each.topic, partitions=each.partition_ids)
            for each in group_by_topic(now.partitions)
            if call.access.may_see(AclOperation.DESCRIBE, ResourceType.TOPIC, each.topic)
        ],
    )


def _make_failure(transactional_id: str, error: ApiError) -> TransactionState:
    return TransactionState(error_code=error.code, transactional_id=transactional_id)
