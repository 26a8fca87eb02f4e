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
from ..groups.offsets.committed_offsets import TopicPartition
from .offset_commit import OFFSETS_A_BATCH, has_partition

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: OffsetDeleteRequest, call: Call) -> OffsetDeleteResponse:
    codes: dict[TopicPartition, ErrorCode] = {}
    known = []
    for topic in request.topics:
        may = call.access.may(AclOperation.READ, ResourceType.TOPIC, topic.name)
        for each in topic.partitions:
            where = topic.name, each.partition_index
            if not may:
                codes[where] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif has_partition(services.cluster, *where):
                known.append(where)
            await call.turn.next()
    for at in range(0, max(1, len(known)), OFFSETS_A_BATCH):
        if at:
            await call.turn.next()
        batch = known[at : at + OFFSETS_A_BATCH]
        try:
            codes |= await services.groups.delete_offsets(request.group_id, batch)
        except ApiError as error:
            if not at:
                raise
            codes |= dict.fromkeys(batch, error.code)  # what came before is done
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
