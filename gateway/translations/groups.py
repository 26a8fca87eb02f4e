"""OffsetCommit 0 and 1 as 2, OffsetFetch 0 as 1, JoinGroup 0 and 1 as 2.

Version 0 of the offset requests belongs to ZooKeeper: clients send it to any broker, where later versions have to reach
the coordinator of the group. If the client's broker is not the coordinator, the gateway sends the request to the
coordinator with its own login. First it checks the client's rights with two requests under the client's login: the same
one, since Kafka checks the rights on the group first, and Metadata, since only that says what the client may do with
each topic. (OffsetFetch 1 cannot tell: a broker that is not the coordinator answers NOT_COORDINATOR even for topics
that the client may not see.)
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ...client.errors import ClientError
from ...network.turn import Turn
from ...protocol.acls import AclOperation
from ...protocol.errors import ErrorCode
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ...protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
)
from ...protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponsePartition
from .translated_call import TranslatedCall

M = TypeVar("M")
PartitionKey = tuple[str, int]
NO_OFFSET = -1
METADATA_VERSION = 8
"""The first version that tells which operations the client may do, one bit each."""
PARTITIONS_A_PART = 250
"""Once a request to the coordinator has this many partitions, those of further topics go into another."""


async def translate_commit(call: TranslatedCall) -> OffsetCommitResponse:
    timestamps: set[int] = set()

    def forget_timestamp(topic: str, partition: OffsetCommitRequestPartition) -> OffsetCommitRequestPartition:
        timestamps.add(partition.commit_timestamp)
        return replace(partition, commit_timestamp=-1)

    request = await _map_partitions(call.request, forget_timestamp, call.turn)
    if timestamps - {-1}:
        call.count_loss("commit timestamps", 1)
    response: OffsetCommitResponse = await _ask_coordinator_for_allowed_topics(call, request, AclOperation.READ)
    return response


async def translate_offset_fetch(call: TranslatedCall) -> OffsetFetchResponse:
    """In version 0 a partition without committed offset has the error UNKNOWN_TOPIC_OR_PARTITION."""
    response: OffsetFetchResponse = await _ask_coordinator_for_allowed_topics(call, call.request, AclOperation.DESCRIBE)

    def name_nothing(topic: str, partition: OffsetFetchResponsePartition) -> OffsetFetchResponsePartition:
        if partition.committed_offset == NO_OFFSET and not partition.error_code:
            return replace(partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    return await _map_partitions(response, name_nothing, call.turn)


async def translate_join(call: TranslatedCall) -> JoinGroupResponse:
    request: JoinGroupRequest = call.request
    if call.version == 0:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    response: JoinGroupResponse = await call.ask(request, call.sent_as, held=call.held)
    return response


async def _ask_coordinator_for_allowed_topics(
    call: TranslatedCall, request: OffsetCommitRequest | OffsetFetchRequest, operation: AclOperation
) -> Any:
    """Asks the client's broker. In version 0, if that is not the coordinator, then asks the coordinator about the
    topics on which the client may do `operation`. Returns the merged response."""
    response, turn = await call.ask(request, call.sent_as), call.turn
    unanswered = {
        key async for key, each in turn.each(_partitions_of(response)) if each.error_code == ErrorCode.NOT_COORDINATOR
    }
    if call.version > 0 or not unanswered:
        return response
    allowed = await _find_topics_with_right(call, {topic async for topic, _ in turn.each(unanswered)}, operation)
    wanted = {each async for each in turn.each(unanswered) if each[0] in allowed}
    answers: dict[PartitionKey, Any] = {}
    if wanted:
        with suppress(ClientError):
            for part in await _divide_into_parts(request, wanted, turn):
                rest = await call.ask_coordinator(request.group_id, part, call.sent_as)
                turn.begin()
                answers |= {key: each async for key, each in turn.each(_partitions_of(rest))}

    def answer(topic: str, partition: Any) -> Any:
        key = (topic, partition.partition_index)
        if key in unanswered and topic not in allowed:
            return replace(partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return answers.get(key, partition)

    return await _map_partitions(response, answer, turn)


async def _find_topics_with_right(call: TranslatedCall, topics: set[str], operation: AclOperation) -> set[str]:
    """The topics on which the client may do `operation`, as Metadata under the client's own login says."""
    request = MetadataRequest(
        topics=await call.turn.map(lambda name: MetadataRequestTopic(name=name), topics),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    response: MetadataResponse = await call.ask(request, METADATA_VERSION)
    return {
        topic.name
        async for topic in call.turn.each(response.topics)
        if topic.name is not None
        and topic.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED
        and topic.topic_authorized_operations & (1 << operation)
    }


def _partitions_of(response: Any) -> Iterator[tuple[PartitionKey, Any]]:
    return (((topic.name, each.partition_index), each) for topic in response.topics for each in topic.partitions)


async def _divide_into_parts(
    request: OffsetCommitRequest | OffsetFetchRequest, wanted: set[PartitionKey], turn: Turn
) -> list[Any]:
    """The request about these partitions alone, in parts that the gateway's own client writes and reads at once."""
    whole: Any = request
    field = "partitions" if isinstance(request, OffsetCommitRequest) else "partition_indexes"
    parts: list[Any] = []
    topics: list[Any] = []
    count = 0
    for topic in whole.topics or ():
        kept = [e async for e in turn.each(getattr(topic, field)) if (topic.name, _index_of(e)) in wanted]
        for at in range(0, len(kept), PARTITIONS_A_PART):
            taken = kept[at : at + PARTITIONS_A_PART]
            topics.append(replace(topic, **{field: taken}))
            count += len(taken)
            if count >= PARTITIONS_A_PART:
                parts.append(replace(whole, topics=topics))
                topics, count = [], 0
        await turn.next()
    return [*parts, replace(whole, topics=topics)] if topics else parts


def _index_of(partition: OffsetCommitRequestPartition | int) -> int:
    return partition if isinstance(partition, int) else partition.partition_index


async def _map_partitions(message: M, change: Callable[[str, Any], Any], turn: Turn) -> M:
    """The message with what `change` makes of each partition of a topic."""
    topics = []
    whole: Any = message
    for topic in whole.topics:
        partitions = await turn.map(partial(change, topic.name), topic.partitions)
        topics.append(replace(topic, partitions=partitions))
        await turn.next()
    changed: M = replace(whole, topics=topics)
    return changed
