"""WriteTxnMarkers, versions 0-1 (KIP-98, 664): writes the markers that end a producer's transactions in partitions.

The transaction coordinator of this broker does so without it; it serves administrators, who end a transaction that no
coordinator knows any more. Each partition is answered by itself: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH
when it knows a later epoch, TRANSACTION_COORDINATOR_FENCED when a later coordinator has written there.
"""

from typing import TYPE_CHECKING

from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ...protocol.records.layout import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from ..dispatch.call import Call
from ..transactions.markers import ProducerMarker

if TYPE_CHECKING:
    from ..services import Services


Codes = dict[int, dict[str, dict[int, ErrorCode]]]
"""By producer id, topic and partition: markers of one producer share an answer, those without partitions have none."""


async def handle(services: "Services", request: WriteTxnMarkersRequest, call: Call) -> WriteTxnMarkersResponse:
    _check_producers(request)
    codes: Codes = {}
    for asked in request.markers:
        marker = ProducerMarker(
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            coordinator_epoch=asked.coordinator_epoch,
            committed=asked.transaction_result,
        )
        for topic in asked.topics:
            await call.turn.next()
            for index in dict.fromkeys(topic.partition_indexes):
                code = await _write_marker(services, marker, topic.name, index, call.turn)
                _set_code(codes, asked.producer_id, topic.name, index, code)
                await call.turn.next()
    return _make_response(codes)


def refuse(request: WriteTxnMarkersRequest, error: ApiError, call: Call) -> WriteTxnMarkersResponse:
    codes: Codes = {}
    for asked in request.markers:
        for topic in asked.topics:
            for index in topic.partition_indexes:
                _set_code(codes, asked.producer_id, topic.name, index, error.code)
    return _make_response(codes)


def _check_producers(request: WriteTxnMarkersRequest) -> None:
    """Raises: ApiError UNKNOWN_SERVER_ERROR, as Kafka fails the whole request when it cannot build such a batch."""
    for marker in request.markers:
        if marker.producer_id == NO_PRODUCER_ID or marker.producer_epoch == NO_PRODUCER_EPOCH:
            raise ApiError(
                f"producer {marker.producer_id} with epoch {marker.producer_epoch} writes no markers",
                ErrorCode.UNKNOWN_SERVER_ERROR,
            )


def _set_code(codes: Codes, producer_id: int, topic: str, index: int, code: ErrorCode) -> None:
    codes.setdefault(producer_id, {}).setdefault(topic, {})[index] = code


def _make_response(codes: Codes) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                            for index, code in partitions.items()
                        ],
                    )
                    for name, partitions in topics.items()
                ],
            )
            for producer_id, topics in codes.items()
        ]
    )


async def _write_marker(services: "Services", marker: ProducerMarker, topic: str, index: int, turn: Turn) -> ErrorCode:
    try:
        await services.transactions.markers.write_at_leader(marker, topic, index, turn)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE
