"""ElectLeaders, versions 0-2 (KIP-183, 460): makes preferred replicas leaders, or any replica where there is no leader.

Named partitions that have such a leader get ELECTION_NOT_NEEDED; where null asks for all, they are left out. A broker
that is alone leads everything. Version notes: v0 knows preferred elections only and has no error of its own.
"""

from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services

PREFERRED = 0
UNCLEAN = 1
FIRST_VERSION_WITH_ERROR = 1


async def handle(services: "Services", request: ElectLeadersRequest, call: Call) -> ElectLeadersResponse:
    asks_for_none = request.topic_partitions is not None and not request.topic_partitions
    if request.election_type not in (PREFERRED, UNCLEAN) and not asks_for_none:
        raise ApiError(f"election type {request.election_type} is not known", ErrorCode.INVALID_REQUEST)
    is_unclean = request.election_type == UNCLEAN
    if request.topic_partitions is None:
        asked = [(topic.name, tuple(topic.partitions)) for topic in services.cluster.topics.values()]
    else:
        asked = [(topic.topic, tuple(topic.partitions)) for topic in request.topic_partitions]
    results = []
    for name, indexes in asked:
        found = await call.turn.map(partial(_elect, services, name, is_unclean=is_unclean), indexes)
        if request.topic_partitions is None:
            found = [each for each in found if each.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        results.append(ReplicaElectionResult(topic=name, partition_result=found))
        await call.turn.next()
    return ElectLeadersResponse(replica_election_results=results)


def refuse(request: ElectLeadersRequest, error: ApiError, call: Call) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error.code if call.version >= FIRST_VERSION_WITH_ERROR else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_make_failure(index, error) for index in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _elect(services: "Services", name: str, index: int, *, is_unclean: bool) -> PartitionResult:
    try:
        services.topics.elect(name, index, is_unclean=is_unclean)
    except ApiError as error:
        return _make_failure(index, error)
    return PartitionResult(partition_id=index, error_message=None)


def _make_failure(index: int, error: ApiError) -> PartitionResult:
    return PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
