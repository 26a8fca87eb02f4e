"""OffsetCommit 0 and 1 as 2, OffsetFetch 0 as 1, JoinGroup 0 and 1 as 2.

Version 0 of the offset requests belongs to ZooKeeper: clients send it to any broker, where later versions have to reach
the coordinator of the group. Where the client's broker is not the coordinator, the gateway's own login asks it. By the
client's login two things are asked before: the same request, since Kafka checks the rights on the group first, and
Metadata, since only that says what the client may do with each topic. (OffsetFetch 1 does not: a broker that is not
the coordinator answers NOT_COORDINATOR for topics, too, that the client may not see.)
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...client.errors import ClientError
from ...protocol.acls import AclOperation
from ...protocol.errors import ErrorCode
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from ...protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ...protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponsePartition
from .translated_call import TranslatedCall

NO_OFFSET = -1
METADATA_VERSION = 8
"""The first with the operations that the client may do, one bit each."""


async def translate_commit(call: TranslatedCall) -> OffsetCommitResponse:
    request: OffsetCommitRequest = call.request
    if any(each.commit_timestamp != -1 for topic in request.topics for each in topic.partitions):
        call.lose("commit timestamps", 1)
    topics = [
        replace(topic, partitions=[replace(each, commit_timestamp=-1) for each in topic.partitions])
        for topic in request.topics
    ]
    response: OffsetCommitResponse = await _ask_coordinator(call, replace(request, topics=topics), AclOperation.READ)
    return response


async def translate_offset_fetch(call: TranslatedCall) -> OffsetFetchResponse:
    """Version 0 says that nothing is committed by an error."""
    response: OffsetFetchResponse = await _ask_coordinator(call, call.request, AclOperation.DESCRIBE)

    def name_nothing(topic: str, partition: OffsetFetchResponsePartition) -> OffsetFetchResponsePartition:
        if partition.committed_offset == NO_OFFSET and not partition.error_code:
            return replace(partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    named: OffsetFetchResponse = _with_partitions(response, name_nothing)
    return named


async def translate_join(call: TranslatedCall) -> JoinGroupResponse:
    request: JoinGroupRequest = call.request
    if call.version == 0:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    response: JoinGroupResponse = await call.ask(request, call.sent_as)
    return response


async def _ask_coordinator(
    call: TranslatedCall, request: OffsetCommitRequest | OffsetFetchRequest, operation: AclOperation
) -> Any:
    """Only about topics with which the client itself may do the operation."""
    response = await call.ask(request, call.sent_as)
    unanswered = {
        (topic.name, each.partition_index)
        for topic in response.topics
        for each in topic.partitions
        if each.error_code == ErrorCode.NOT_COORDINATOR
    }
    if call.version > 0 or not unanswered:
        return response
    allowed = await _ask_for_rights(call, {topic for topic, _ in unanswered}, operation)
    wanted = {each for each in unanswered if each[0] in allowed}
    answers: dict[tuple[str, int], Any] = {}
    if wanted:
        with suppress(ClientError):
            rest = await call.ask_coordinator(request.group_id, _part_of(request, wanted), call.sent_as)
            answers = {(topic.name, each.partition_index): each for topic in rest.topics for each in topic.partitions}

    def answer(topic: str, partition: Any) -> Any:
        key = (topic, partition.partition_index)
        if key in unanswered and topic not in allowed:
            return replace(partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return answers.get(key, partition)

    return _with_partitions(response, answer)


async def _ask_for_rights(call: TranslatedCall, topics: set[str], operation: AclOperation) -> set[str]:
    """Those of the topics with which the client may do the operation, by the cluster's word to the client."""
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in sorted(topics)],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    response: MetadataResponse = await call.ask(request, METADATA_VERSION)
    return {
        topic.name
        for topic in response.topics
        if topic.name is not None
        and topic.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED
        and topic.topic_authorized_operations & (1 << operation)
    }


def _part_of(request: OffsetCommitRequest | OffsetFetchRequest, wanted: set[tuple[str, int]]) -> Any:
    """The request about these partitions alone."""
    if isinstance(request, OffsetCommitRequest):
        commits = [
            replace(
                topic, partitions=[each for each in topic.partitions if (topic.name, each.partition_index) in wanted]
            )
            for topic in request.topics
        ]
        return replace(request, topics=[topic for topic in commits if topic.partitions])
    fetches = [
        replace(topic, partition_indexes=[each for each in topic.partition_indexes if (topic.name, each) in wanted])
        for topic in request.topics or ()
    ]
    return replace(request, topics=[topic for topic in fetches if topic.partition_indexes])


def _with_partitions(response: Any, change: Callable[[str, Any], Any]) -> Any:
    """The response with what `change` makes of each partition of a topic."""
    topics = [
        replace(topic, partitions=[change(topic.name, each) for each in topic.partitions]) for topic in response.topics
    ]
    return replace(response, topics=topics)
