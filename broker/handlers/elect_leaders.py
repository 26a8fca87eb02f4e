"""ElectLeaders, versions 0-2 (KIP-183, 460): makes preferred replicas leaders, or any replica where there is no leader.

The only broker leads everything, so there is never anything to do: ELECTION_NOT_NEEDED for partitions that are named,
nothing for those that are not (null: all). Version notes: v0 knows preferred elections only and has no error of its
own.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ..network.call import Call

if TYPE_CHECKING:
    from ..services import Services

PREFERRED = 0
UNCLEAN = 1
FIRST_VERSION_WITH_ERROR = 1


def handle(broker: "Services", request: ElectLeadersRequest, call: Call) -> ElectLeadersResponse:
    if request.election_type not in (PREFERRED, UNCLEAN):
        raise ApiError(f"election type {request.election_type} is not known", ErrorCode.INVALID_REQUEST)
    if request.topic_partitions is None:
        return ElectLeadersResponse(
            replica_election_results=[ReplicaElectionResult(topic=name) for name in broker.cluster.topics]
        )
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_elect(broker, topic.topic, index) for index in topic.partitions]
            )
            for topic in request.topic_partitions
        ]
    )


def refuse(request: ElectLeadersRequest, error: ApiError, call: Call) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error.code if call.version >= FIRST_VERSION_WITH_ERROR else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_failure(index, error) for index in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _elect(broker: "Services", name: str, index: int) -> PartitionResult:
    try:
        broker.cluster.partition(name, index)
    except ApiError as error:
        return _failure(index, error)
    return _failure(index, ApiError(f"{name}-{index} has its preferred leader", ErrorCode.ELECTION_NOT_NEEDED))


def _failure(index: int, error: ApiError) -> PartitionResult:
    return PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
