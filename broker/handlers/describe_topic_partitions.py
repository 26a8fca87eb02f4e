"""DescribeTopicPartitions, version 0 (KIP-966): topics and their partitions, a page at a time.

Topics come in the order of their names, from the cursor on; at most `response_partition_limit` partitions, and no
more than `max.request.partition.size.limit`. Eligible leader replicas are empty: they are not in use by default.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from ..dispatch.call import Call
from ..metadata.image import MetadataImage, Topic
from ..metadata.partition import Partition
from ..metadata.topic_rules import INTERNAL_TOPICS, is_legal_name
from ..security.authorization.access import Access

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: DescribeTopicPartitionsRequest, call: Call
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    first_name = cursor.topic_name if cursor is not None else ""
    asked = {topic.name for topic in request.topics}
    names = sorted(name for name in asked or services.cluster.topics if name >= first_name)
    _ensure_valid_cursor(cursor, asked)
    may = call.access.may if asked else call.access.may_see
    is_seen = {}
    for name in names:
        is_seen[name] = may(AclOperation.DESCRIBE, ResourceType.TOPIC, name)
        await call.turn.next()
    page = await _describe_page(services, request, [name for name in names if is_seen[name]], call)
    hidden = [_make_refusal(name) for name in asked if not is_seen.get(name, True)]
    return replace(page, topics=[*page.topics, *hidden]) if hidden else page


async def _describe_page(
    services: "Services", request: DescribeTopicPartitionsRequest, names: Iterable[str], call: Call
) -> DescribeTopicPartitionsResponse:
    topics = services.cluster.topics
    cursor = request.cursor
    remaining = max(1, min(services.settings.max_request_partition_size_limit, request.response_partition_limit))
    answers: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        await call.turn.next()
        if remaining <= 0:
            return DescribeTopicPartitionsResponse(topics=answers, next_cursor=Cursor(topic_name=name))
        topic = topics.get(name)
        if topic is None:
            answers.append(_make_absent_topic(name, call.access))
            continue
        start = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        end = min(len(topic.partitions), start + remaining)
        answers.append(await _describe(topic, range(start, end), call, services.cluster))
        if end < len(topic.partitions):
            next_cursor = Cursor(topic_name=name, partition_index=end)
            return DescribeTopicPartitionsResponse(topics=answers, next_cursor=next_cursor)
        remaining -= max(0, end - start)
    return DescribeTopicPartitionsResponse(topics=answers)


def refuse(request: DescribeTopicPartitionsRequest, error: ApiError, call: Call) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name) for topic in request.topics
        ]
    )


def _make_refusal(name: str) -> DescribeTopicPartitionsResponseTopic:
    """The answer is the same whether the topic exists or not."""
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name)


def _ensure_valid_cursor(cursor: Cursor | None, asked: set[str]) -> None:
    """Raises ApiError INVALID_REQUEST."""
    if cursor is None:
        return
    if asked and cursor.topic_name not in asked:
        raise ApiError(f"the cursor's topic {cursor.topic_name} is not asked for", ErrorCode.INVALID_REQUEST)
    if cursor.partition_index < 0:
        raise ApiError(f"the cursor's partition is {cursor.partition_index}", ErrorCode.INVALID_REQUEST)


def _make_absent_topic(name: str, access: Access) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=access.authorized_operations(ResourceType.TOPIC, name),
    )


async def _describe(
    topic: Topic, indexes: Iterable[int], call: Call, cluster: MetadataImage
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=await call.turn.map(lambda index: _describe_partition(topic.partitions[index], cluster), indexes),
        topic_authorized_operations=call.access.authorized_operations(ResourceType.TOPIC, topic.name),
    )


def _describe_partition(partition: Partition, cluster: MetadataImage) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=partition.index,
        leader_id=cluster.leader_of(partition),
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=(),
        last_known_elr=(),
        offline_replicas=cluster.offline_replicas(partition),
    )
