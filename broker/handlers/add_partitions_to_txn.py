"""AddPartitionsToTxn, versions 0-5 (KIP-98, 890): makes partitions part of a transaction.

All of a transaction's partitions are added or none: where one does not exist, the others are answered
OPERATION_NOT_ATTEMPTED.

Version notes: before v2 PRODUCER_FENCED is called INVALID_PRODUCER_EPOCH (KIP-588); v3 is flexible; brokers send
v4 and v5 to each other: several transactions, of which some are only to be verified. This broker, its own
coordinator, does not need them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from ..dispatch.call import Call
from ..metadata.topic_rules import INTERNAL_TOPICS
from ..security.authorization.access import Access
from ..transactions.errors_for_old_producers import error_code_for_version
from ..transactions.transaction import TopicPartition
from .offset_commit import has_partition

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_OF_BROKERS = 4


async def handle(services: "Services", request: AddPartitionsToTxnRequest, call: Call) -> AddPartitionsToTxnResponse:
    if call.version < FIRST_VERSION_OF_BROKERS:
        asked = _as_transaction(request)
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=_make_topic_results(asked, await _add_partitions(services, asked, call))
        )
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            _make_result(asked, await _add_partitions(services, asked, call)) for asked in request.transactions
        ]
    )


def refuse(request: AddPartitionsToTxnRequest, error: ApiError, call: Call) -> AddPartitionsToTxnResponse:
    if call.version >= FIRST_VERSION_OF_BROKERS:
        return AddPartitionsToTxnResponse(error_code=error.code)
    asked = _as_transaction(request)
    codes = dict.fromkeys(_list_partitions(asked.topics), error_code_for_version(error, call.version))
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_make_topic_results(asked, codes))


def _as_transaction(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


async def _add_partitions(
    services: "Services", asked: AddPartitionsToTxnTransaction, call: Call
) -> Mapping[TopicPartition, ErrorCode]:
    partitions, faults = [], {}
    await call.turn.next()
    for topic in asked.topics:
        is_denied = call.version < FIRST_VERSION_OF_BROKERS and not _may_write(call.access, topic.name)
        for index in topic.partitions:
            partitions.append((topic.name, index))
            if is_denied:
                faults[topic.name, index] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif not has_partition(services.cluster, topic.name, index):
                faults[topic.name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            await call.turn.next()
    if faults:
        return {each: faults.get(each, ErrorCode.OPERATION_NOT_ATTEMPTED) for each in partitions}
    producer = (asked.transactional_id, asked.producer_id, asked.producer_epoch)
    try:
        if asked.verify_only:
            return services.transactions.verify(*producer, partitions)
        await services.transactions.add_partitions(*producer, partitions)
    except ApiError as error:
        return dict.fromkeys(partitions, error_code_for_version(error, call.version))
    return dict.fromkeys(partitions, ErrorCode.NONE)


def _list_partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [(topic.name, index) for topic in topics for index in topic.partitions]


def _may_write(access: Access, topic: str) -> bool:
    """Nobody may add an internal topic to a transaction (Kafka does not even look at the permissions)."""
    return topic not in INTERNAL_TOPICS and access.may(AclOperation.WRITE, ResourceType.TOPIC, topic)


def _make_result(
    asked: AddPartitionsToTxnTransaction, codes: Mapping[TopicPartition, ErrorCode]
) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=asked.transactional_id, topic_results=_make_topic_results(asked, codes)
    )


def _make_topic_results(
    asked: AddPartitionsToTxnTransaction, codes: Mapping[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=codes[topic.name, index])
                for index in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
