"""DescribeQuorum, versions 0-2 (KIP-595, 836, 853): who holds the cluster's metadata.

It is this broker, alone: leader and only voter of `__cluster_metadata-0`, the log that it writes. Version notes: v1 has
fetch times, v2 error messages and endpoints, and directory ids, which kraft.version 0 does not have.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
    TopicData,
)
from ..dispatch.call import Call
from ..metadata.topic_rules import METADATA_TOPIC

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_NODES = 2


def handle(services: "Services", request: DescribeQuorumRequest, call: Call) -> DescribeQuorumResponse:
    if not _is_metadata_partition(request):
        return DescribeQuorumResponse(
            error_message=None, topics=[_make_unknown_topic(topic) for topic in request.topics]
        )
    has_nodes = call.version >= FIRST_VERSION_WITH_NODES
    metadata = services.topics.store.log
    end_offset = metadata.end_offset
    now_ms = services.clock.now_ms()
    voter = ReplicaState(
        replica_id=services.cluster.node_id,
        log_end_offset=end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    partition = ResponsePartitionData(
        error_message=None,
        leader_id=services.cluster.node_id,
        leader_epoch=metadata.epoch,
        high_watermark=end_offset,
        current_voters=(voter,),
    )
    return DescribeQuorumResponse(
        error_message=None,
        topics=(ResponseTopicData(topic_name=METADATA_TOPIC, partitions=(partition,)),),
        nodes=_list_nodes(services) if has_nodes else (),
    )


def refuse(request: DescribeQuorumRequest, error: ApiError, call: Call) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message)


def _is_metadata_partition(request: DescribeQuorumRequest) -> bool:
    asked = [(topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions]
    return asked == [(METADATA_TOPIC, 0)]


def _make_unknown_topic(topic: TopicData) -> ResponseTopicData:
    partitions = [
        ResponsePartitionData(
            partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, error_message=None
        )
        for each in topic.partitions
    ]
    return ResponseTopicData(topic_name=topic.topic_name, partitions=partitions)


def _list_nodes(services: "Services") -> list[Node]:
    return [
        Node(
            node_id=node.node_id,
            listeners=[
                Listener(name=name, host=endpoint.host, port=endpoint.port) for name, endpoint in node.endpoints.items()
            ],
        )
        for node in services.cluster.brokers.values()
    ]
