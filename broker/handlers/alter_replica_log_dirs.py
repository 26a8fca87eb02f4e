"""AlterReplicaLogDirs, versions 0-2 (KIP-113): moves partitions between the log directories of this broker.

The answer says whether the move has begun; DescribeLogDirs shows how far it is. Asking again for the same directory
changes nothing; asking for another one starts again, for the present one cancels the move. v0-v2
are alike but for flexible fields.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: AlterReplicaLogDirsRequest, call: Call) -> AlterReplicaLogDirsResponse:
    codes: dict[str, dict[int, ErrorCode]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                codes.setdefault(topic.name, {})[index] = _request_move(services, topic.name, index, directory.path)
                await call.turn.next()
    return _make_response(codes)


def refuse(request: AlterReplicaLogDirsRequest, error: ApiError, call: Call) -> AlterReplicaLogDirsResponse:
    codes: dict[str, dict[int, ErrorCode]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            codes.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, error.code))
    return _make_response(codes)


def _request_move(services: "Services", name: str, index: int, path: str) -> ErrorCode:
    try:
        services.topics.moves.request_move(name, index, path)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def _make_response(codes: dict[str, dict[int, ErrorCode]]) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                    for index, code in partitions.items()
                ],
            )
            for name, partitions in codes.items()
        ]
    )
