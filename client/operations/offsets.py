"""Offsets: those that groups have committed, and those of partitions by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.errors import error_name
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ...protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from ..errors import UnsupportedVersion, raise_if_error
from ..operation import Ask, Coordinator, Operation, TopicPartition, ask
from .outcome import Outcome

SEVERAL_GROUPS_FROM, ALL_OFFSETS_FROM = 8, 2  # of OffsetFetch
EARLIEST, LATEST = -2, -1
NO_OFFSET = -1
NO_GENERATION = -1


def committed_offsets(group: str) -> Operation[dict[TopicPartition, int]]:
    """All offsets that a group has committed. Raises: KafkaError."""

    def make_request(version: int) -> OffsetFetchRequest:
        if version < ALL_OFFSETS_FROM:
            raise UnsupportedVersion("this broker is too old to tell all offsets of a group")
        if version < SEVERAL_GROUPS_FROM:
            return OffsetFetchRequest(group_id=group, topics=None)
        return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=None),))

    def part_of(response: Any) -> Any:
        return response.groups[0] if response.groups else response

    response = yield Ask(
        key=ApiKey.OFFSET_FETCH,
        make_request=make_request,
        to=Coordinator(group),
        error_of=lambda response: part_of(response).error_code,
    )
    found = part_of(response)
    raise_if_error(f"the offsets of group {group} cannot be read", found)
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in found.topics
        for each in topic.partitions
        if each.committed_offset != NO_OFFSET
    }


def commit_offsets(
    group: str,
    offsets: Mapping[TopicPartition, int],
    *,
    generation: int = NO_GENERATION,
    member_id: str = "",
    is_looked_up: bool = False,
) -> Operation[list[Outcome]]:
    """Commits offsets, for a group without members or as a member; an outcome for each partition."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        entry = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata="", committed_leader_epoch=-1
        )
        by_topic.setdefault(topic, []).append(entry)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=tuple(OffsetCommitRequestTopic(name=name, partitions=each) for name, each in by_topic.items()),
    )
    response = yield Ask(
        key=ApiKey.OFFSET_COMMIT,
        make_request=lambda version: request,
        to=Coordinator(group, looked_up_first=is_looked_up),
        error_of=lambda response: max((each.error_code for each in _partitions_of_response(response)), default=0),
    )
    return [
        Outcome(
            name=f"{topic.name}-{each.partition_index}",
            error=error_name(each.error_code) if each.error_code else "",
        )
        for topic in response.topics
        for each in topic.partitions
    ]


def _partitions_of_response(response: Any) -> Iterable[Any]:
    return (each for topic in response.topics for each in topic.partitions)


def look_up_offsets(
    topic_partitions: Iterable[TopicPartition], timestamp: int, *, to: int | None = None
) -> Operation[dict[TopicPartition, int]]:
    """Offset of the first record at or after `timestamp`, -1 if there is none; EARLIEST and LATEST are the ends.

    Partitions with an error are left out. `to`: the broker that leads them; without it any broker is asked.
    """
    by_topic: dict[str, list[int]] = {}
    for topic, partition in topic_partitions:
        by_topic.setdefault(topic, []).append(partition)
    if not by_topic:
        return {}
    topics = tuple(
        ListOffsetsTopic(
            name=topic,
            partitions=tuple(ListOffsetsPartition(partition_index=each, timestamp=timestamp) for each in partitions),
        )
        for topic, partitions in by_topic.items()
    )
    response = yield from ask(ListOffsetsRequest(replica_id=-1, topics=topics), to)
    return {
        (topic.name, each.partition_index): each.offset
        for topic in response.topics
        for each in topic.partitions
        if not each.error_code
    }
