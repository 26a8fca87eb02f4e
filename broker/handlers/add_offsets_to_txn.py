"""AddOffsetsToTxn, versions 0-4 (KIP-98): makes the offsets of a group part of a transaction.

It adds the partition of `__consumer_offsets` that holds the group; the group need not exist.

Version notes: before v2 PRODUCER_FENCED is called INVALID_PRODUCER_EPOCH (KIP-588); v3 is flexible; v4 only says that
the producer knows TRANSACTION_ABORTABLE.
"""

from typing import TYPE_CHECKING

from ...protocol.coordinator.partitioning import partition_of
from ...protocol.errors import ApiError
from ...protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ..dispatch.call import Call
from ..metadata.topic_rules import OFFSETS_TOPIC
from ..transactions.errors_for_old_producers import error_code_for_version

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: AddOffsetsToTxnRequest, call: Call) -> AddOffsetsToTxnResponse:
    topic = await services.topics.ensure(OFFSETS_TOPIC)
    partition = (OFFSETS_TOPIC, partition_of(request.group_id, len(topic.partitions)))
    await services.transactions.add_partitions(
        request.transactional_id, request.producer_id, request.producer_epoch, [partition]
    )
    return AddOffsetsToTxnResponse()


def refuse(request: AddOffsetsToTxnRequest, error: ApiError, call: Call) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error_code_for_version(error, call.version))
