"""WriteTxnMarkers, versions 0-1 (KIP-98, 664): writes the markers that end a producer's transactions in partitions.

The transaction coordinator of this broker does so without it; it serves administrators, who end a transaction that no
coordinator knows any more. Each partition is answered by itself: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH
when it knows a later epoch, TRANSACTION_COORDINATOR_FENCED when a later coordinator has written there.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ..network.call import Call
from ..transactions.markers import MarkerOf

if TYPE_CHECKING:
    from ..services import Services


async def handle(broker: "Services", request: WriteTxnMarkersRequest, call: Call) -> WriteTxnMarkersResponse:
    results = []
    for marker in request.markers:
        results.append(_write(broker, marker))
        await broker.breathe()
    return WriteTxnMarkersResponse(markers=results)


def refuse(request: WriteTxnMarkersRequest, error: ApiError, call: Call) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=error.code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _write(broker: "Services", asked: WritableTxnMarker) -> WritableTxnMarkerResult:
    marker = MarkerOf(
        producer_id=asked.producer_id,
        producer_epoch=asked.producer_epoch,
        coordinator_epoch=asked.coordinator_epoch,
        committed=asked.transaction_result,
    )
    return WritableTxnMarkerResult(
        producer_id=asked.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index, error_code=_write_one(broker, marker, topic.name, index)
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ],
    )


def _write_one(broker: "Services", marker: MarkerOf, topic: str, index: int) -> ErrorCode:
    try:
        broker.transactions.markers.write(marker, topic, index)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE
