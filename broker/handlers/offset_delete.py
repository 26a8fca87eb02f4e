"""OffsetDelete, version 0: removes committed offsets of topics that no member of the group reads (KIP-496)."""

from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from ..dispatch.call import Call
from .offset_commit import has_partition

if TYPE_CHECKING:
    from ..services import Services


async def handle(broker: "Services", request: OffsetDeleteRequest, call: Call) -> OffsetDeleteResponse:
    asked = [(topic.name, each.partition_index) for topic in request.topics for each in topic.partitions]
    names = dict.fromkeys(topic.name for topic in request.topics)
    denied = {name for name in names if not call.access.may(AclOperation.READ, ResourceType.TOPIC, name)}
    known = [where for where in asked if where[0] not in denied and has_partition(broker.cluster, *where)]
    codes = await broker.groups.delete_offsets(request.group_id, known)
    codes = {**codes, **{where: ErrorCode.TOPIC_AUTHORIZATION_FAILED for where in asked if where[0] in denied}}
    return OffsetDeleteResponse(
        topics=tuple(
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetDeleteResponsePartition(
                        partition_index=each.partition_index,
                        error_code=codes.get((topic.name, each.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def refuse(request: OffsetDeleteRequest, error: ApiError, call: Call) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)
