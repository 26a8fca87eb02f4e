"""OffsetFetch, versions 0-9: what groups have committed (KIP-88, 320, 447, 709, 848).

Anybody may ask, member or not. A partition without an offset has -1 and no error, also when its topic does not
exist. Groups, topics and partitions that are named twice are answered once.

Version notes: v0, once answered from ZooKeeper, has error 3 where there is no offset or no such partition; v0 and v1
repeat an error of the group for each partition, v2 to v7 have it at the top, v8 and later per group. Null topics (v2+)
ask for all. With `require_stable` (v7+) a partition whose commit is not settled is answered UNSTABLE_OFFSET_COMMIT. v9
checks the epoch of KIP-848 members.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from ..dispatch.acted_release import refuse_zookeeper_offsets
from ..dispatch.call import Call
from ..dispatch.repeated_items import merge_topics
from ..groups.offsets.offset_requests import UNKNOWN_OFFSET
from .offset_commit import has_partition

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_SEVERAL_GROUPS = 8
FIRST_VERSION_WITH_TOP_LEVEL_ERROR = 2


async def handle(services: "Services", request: OffsetFetchRequest, call: Call) -> OffsetFetchResponse:
    refuse_zookeeper_offsets(services.settings.stepdown_act_as, call.version)
    turn = call.turn
    groups = []
    for asked in _groups_of(request, call.version):
        groups.append(await _answer_group(services, asked, request.require_stable, call))
        await turn.next()
    if call.version >= FIRST_VERSION_WITH_SEVERAL_GROUPS:
        return OffsetFetchResponse(groups=groups)
    flat = [
        OffsetFetchResponseTopic(name=topic.name, partitions=await turn.map(_to_top_level, topic.partitions))
        for topic in groups[0].topics
    ]
    return OffsetFetchResponse(error_code=groups[0].error_code, topics=flat)


def refuse(request: OffsetFetchRequest, error: ApiError, call: Call) -> OffsetFetchResponse:
    return _make_response(
        [_make_failure(asked, error.code, call.version) for asked in _groups_of(request, call.version)], call.version
    )


def _groups_of(request: OffsetFetchRequest, version: int) -> Sequence[OffsetFetchRequestGroup]:
    """The groups asked for, in the form of the newest version: each with topics, or null for all."""
    if version >= FIRST_VERSION_WITH_SEVERAL_GROUPS:
        return list({group.group_id: group for group in request.groups}.values())
    topics = request.topics
    listed = (
        None
        if topics is None
        else tuple(
            OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes) for each in topics
        )
    )
    return (OffsetFetchRequestGroup(group_id=request.group_id, topics=listed),)


async def _answer_group(
    services: "Services", asked: OffsetFetchRequestGroup, stable: bool, call: Call
) -> OffsetFetchResponseGroup:
    try:
        await services.groups.check_fetcher(asked.group_id, asked.member_id, asked.member_epoch)
    except ApiError as error:
        return _make_failure(asked, error.code, call.version)
    if asked.topics is None:
        topics: Mapping[str, Iterable[int]] = await _list_visible_partitions(services, asked.group_id, call)
    else:
        topics = await merge_topics(asked.topics, call.turn)
    told = []
    for name, indexes in topics.items():
        answer = _make_denied_partition
        if call.access.may(AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            answer = partial(_fetch_offset, services, asked.group_id, name, stable=stable, version=call.version)
        told.append(OffsetFetchResponseTopics(name=name, partitions=await call.turn.map(answer, indexes)))
        await call.turn.next()
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=tuple(told))


def _make_denied_partition(index: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=UNKNOWN_OFFSET.offset,
        metadata="",
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )


async def _list_visible_partitions(services: "Services", group_id: str, call: Call) -> dict[str, list[int]]:
    """The partitions with offsets, of the topics that the client may see."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in tuple(services.groups.offsets_of_group(group_id)):
        if call.access.may_see(AclOperation.DESCRIBE, ResourceType.TOPIC, topic):
            by_topic.setdefault(topic, []).append(partition)
        await call.turn.next()
    return by_topic


def _fetch_offset(
    services: "Services", group_id: str, topic: str, partition: int, *, stable: bool, version: int
) -> OffsetFetchResponsePartitions:
    code = ErrorCode.NONE
    try:
        found = services.groups.fetch_offset(group_id, topic, partition, stable=stable)
    except ApiError as error:
        found, code = UNKNOWN_OFFSET, error.code
    if version == 0 and (found is UNKNOWN_OFFSET or not has_partition(services.cluster, topic, partition)):
        found, code = UNKNOWN_OFFSET, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=found.offset,
        committed_leader_epoch=found.leader_epoch,
        metadata=found.metadata,
        error_code=code,
    )


def _make_failure(asked: OffsetFetchRequestGroup, code: ErrorCode, version: int) -> OffsetFetchResponseGroup:
    if version >= FIRST_VERSION_WITH_TOP_LEVEL_ERROR:
        return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=code)
    topics = tuple(
        OffsetFetchResponseTopics(
            name=topic.name,
            partitions=tuple(
                OffsetFetchResponsePartitions(
                    partition_index=index, committed_offset=UNKNOWN_OFFSET.offset, metadata="", error_code=code
                )
                for index in topic.partition_indexes
            ),
        )
        for topic in asked.topics or ()
    )
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics, error_code=code)


def _make_response(groups: Sequence[OffsetFetchResponseGroup], version: int) -> OffsetFetchResponse:
    if version >= FIRST_VERSION_WITH_SEVERAL_GROUPS:
        return OffsetFetchResponse(groups=groups)
    only = groups[0]
    return OffsetFetchResponse(
        error_code=only.error_code,
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic.name, partitions=tuple(_to_top_level(each) for each in topic.partitions)
            )
            for topic in only.topics
        ),
    )


def _to_top_level(found: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=found.partition_index,
        committed_offset=found.committed_offset,
        committed_leader_epoch=found.committed_leader_epoch,
        metadata=found.metadata,
        error_code=found.error_code,
    )
