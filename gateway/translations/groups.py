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
from .call import Call

NO_OFFSET = -1


async def translate_commit(call: Call) -> OffsetCommitResponse:
    request: OffsetCommitRequest = call.request
    if any(each.commit_timestamp != -1 for topic in request.topics for each in topic.partitions):
        call.lose("commit timestamps", 1)
    topics = [
        replace(topic, partitions=[replace(each, commit_timestamp=-1) for each in topic.partitions])
        for topic in request.topics
    ]
    response: OffsetCommitResponse = await _ask_coordinator(call, replace(request, topics=topics))
    return response


async def translate_offset_fetch(call: Call) -> OffsetFetchResponse:
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


async def translate_join(call: Call) -> JoinGroupResponse:
    request: JoinGroupRequest = call.request
    if call.version == 0:
        request = replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    response: JoinGroupResponse = await call.ask(request, call.sent_as)
    return response


async def _ask_coordinator(call: Call, request: OffsetCommitRequest | OffsetFetchRequest) -> Any:
    response = await call.ask(request, call.sent_as)
    codes = {each.error_code for topic in response.topics for each in topic.partitions}
    if call.version > 0 or ErrorCode.NOT_COORDINATOR not in codes:
        return response
    try:
        return await call.ask_coordinator(request.group_id, request, call.sent_as)
    except ClientError:
        return response
