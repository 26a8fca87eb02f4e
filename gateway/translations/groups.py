"""OffsetCommit 0 and 1 as 2, OffsetFetch 0 as 1, JoinGroup 0 and 1 as 2.

Version 0 of the offset requests belongs to ZooKeeper: clients send it to any broker, where later versions have to reach
the coordinator of the group. It is asked by the gateway's own login when the client's broker is not it, which the
client's own login has asked first: Kafka checks its rights before.
"""

from dataclasses import replace
from typing import Any

from ...client.errors import ClientError
from ...protocol.errors import ErrorCode
from ...protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ...protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ...protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from .translated_call import TranslatedCall

NO_OFFSET = -1


async def translate_commit(call: TranslatedCall) -> OffsetCommitResponse:
    request: OffsetCommitRequest = call.request
    if any(each.commit_timestamp != -1 for topic in request.topics for each in topic.partitions):
        call.lose("commit timestamps", 1)
    topics = [
        replace(topic, partitions=[replace(each, commit_timestamp=-1) for each in topic.partitions])
        for topic in request.topics
    ]
    response: OffsetCommitResponse = await _ask_coordinator(call, replace(request, topics=topics))
    return response


async def translate_offset_fetch(call: TranslatedCall) -> OffsetFetchResponse:
    """Version 0 says that nothing is committed by an error."""
    response: OffsetFetchResponse = await _ask_coordinator(call, call.request)
    topics = []
    for topic in response.topics:
        partitions = [
            replace(each, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if each.committed_offset == NO_OFFSET and not each.error_code
            else each
            for each in topic.partitions
        ]
        topics.append(replace(topic, partitions=partitions))
    return replace(response, topics=topics)


async def translate_join(call: TranslatedCall) -> JoinGroupResponse:
    request: JoinGroupRequest = call.request
    if call.version == 0:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    response: JoinGroupResponse = await call.ask(request, call.sent_as)
    return response


async def _ask_coordinator(call: TranslatedCall, request: OffsetCommitRequest | OffsetFetchRequest) -> Any:
    """Only for the partitions that the client may see or change: the others have another answer already."""
    response = await call.ask(request, call.sent_as)
    unanswered = {
        (topic.name, each.partition_index)
        for topic in response.topics
        for each in topic.partitions
        if each.error_code == ErrorCode.NOT_COORDINATOR
    }
    if call.version > 0 or not unanswered:
        return response
    try:
        rest = await call.ask_coordinator(request.group_id, _part_of(request, unanswered), call.sent_as)
    except ClientError:
        return response
    return _with_answers_of(rest, response)


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


def _with_answers_of(rest: Any, response: Any) -> Any:
    """The response, and for each partition that is in `rest` what that says."""
    found = {(topic.name, each.partition_index): each for topic in rest.topics for each in topic.partitions}
    topics = [
        replace(topic, partitions=[found.get((topic.name, each.partition_index), each) for each in topic.partitions])
        for topic in response.topics
    ]
    return replace(response, topics=topics)
