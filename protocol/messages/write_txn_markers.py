"""WriteTxnMarkers (key 27), versions 0–1, flexible from 1.

Writes commit or abort markers into partitions; between brokers.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int16, int32, int64, message, string, struct


@struct
class WritableTxnMarkerTopic:
    name: str = string()
    partition_indexes: Sequence[int] = array(int32)


@struct
class WritableTxnMarker:
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: Sequence[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()


@message(versions="0-1", flexible="1+")
class WriteTxnMarkersRequest:
    """The markers to write."""

    markers: Sequence[WritableTxnMarker] = array(WritableTxnMarker)


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class WritableTxnMarkerTopicResult:
    name: str = string()
    partitions: Sequence[WritableTxnMarkerPartitionResult] = array(WritableTxnMarkerPartitionResult)


@struct
class WritableTxnMarkerResult:
    producer_id: int = int64()
    topics: Sequence[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult)


@message(versions="0-1", flexible="1+")
class WriteTxnMarkersResponse:
    """How that went, per producer and partition."""

    markers: Sequence[WritableTxnMarkerResult] = array(WritableTxnMarkerResult)
