"""The offsets that a group has committed, read by OffsetFetch."""

from __future__ import annotations

from ...protocol.api import ApiKey
from ...protocol.errors import error_name
from ...protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from .broker_client import BrokerClient
from .failures import CommandFailed
from .partition_leaders import TopicPartition

SEVERAL_GROUPS_FROM, ALL_OFFSETS_FROM = 8, 2
NO_OFFSET = -1


def committed(client: BrokerClient, name: str) -> dict[TopicPartition, int]:
    """All offsets that a group has committed."""

    def request(version: int) -> OffsetFetchRequest:
        if version < ALL_OFFSETS_FROM:
            raise CommandFailed("this broker is too old to tell all offsets of a group")
        if version < SEVERAL_GROUPS_FROM:
            return OffsetFetchRequest(group_id=name, topics=None)
        return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=name, topics=None),))

    response = client.call(ApiKey.OFFSET_FETCH, request)
    answer = response.groups[0] if response.groups else response
    if answer.error_code:
        raise CommandFailed(f"the offsets of group {name} cannot be read: {error_name(answer.error_code)}")
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
        if each.committed_offset != NO_OFFSET
    }
