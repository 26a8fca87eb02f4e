"""ListOffsets 0 as 1: version 0 wants the offsets at which segments begin, newest first, and 1 gives one offset.

    asked                 answered
    no offset at all      an empty list
    the end, one offset   the end
    the end, more         the end and the beginning, once if they are equal
    the beginning         the beginning
    a time T              the first offset at T or later and the beginning; nothing before T: an empty list; nothing at
                          T or later: as the end
    below -2              UNSUPPORTED_VERSION

The same partition may be named twice in version 0, for its end and its beginning, and not in 1: each other time that
is looked up for it is a request of its own, `MOST_LOOKUPS` at most. Where segments begin is nowhere in the protocol;
the answer for a time is finer than Kafka's.
"""

from collections.abc import Sequence

from ...network.answerer import CloseConnection
from ...protocol.errors import ErrorCode
from ...protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from .translated_call import TranslatedCall

LATEST, EARLIEST = -1, -2
NOT_FOUND = -1
FOLLOWER_FROM = 0
MOST_LOOKUPS = 50
PartitionKey = tuple[str, int]
Lookup = tuple[PartitionKey, int]


async def translate(call: TranslatedCall) -> ListOffsetsResponse:
    request: ListOffsetsRequest = call.request
    if request.replica_id >= FOLLOWER_FROM:
        raise CloseConnection("ListOffsets of a follower: brokers do not speak through the gateway")
    named = [((topic.name, each.partition_index), each) for topic in request.topics for each in topic.partitions]
    found: dict[Lookup, ListOffsetsPartitionResponse] = {}
    for lookups in _rounds(named):
        found.update(await _ask(call, request.replica_id, lookups))
    if any(partition.max_num_offsets > 2 for _, partition in named):
        call.lose("segment lists", 1)
    topics = [
        ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[_respond((topic.name, each.partition_index), each, found) for each in topic.partitions],
        )
        for topic in request.topics
    ]
    return ListOffsetsResponse(topics=topics)


def _rounds(named: Sequence[tuple[PartitionKey, ListOffsetsPartition]]) -> Sequence[Sequence[Lookup]]:
    """What to look up, each partition once a round. Raises: CloseConnection."""
    wanted: dict[PartitionKey, dict[int, None]] = {}
    for key, partition in named:
        wanted.setdefault(key, {}).update(dict.fromkeys(_lookups(partition)))
    rounds: list[list[Lookup]] = []
    for key, times in wanted.items():
        if len(times) > MOST_LOOKUPS:
            raise CloseConnection(
                f"ListOffsets asks for {len(times)} times of a partition, {MOST_LOOKUPS} are the most"
            )
        rounds += ([] for _ in range(len(rounds), len(times)))
        for lookups, time in zip(rounds, times, strict=False):
            lookups.append((key, time))
    return rounds


def _lookups(partition: ListOffsetsPartition) -> Sequence[int]:
    """The timestamps to look up."""
    time = partition.timestamp
    if time < EARLIEST:
        return ()
    if time == EARLIEST or partition.max_num_offsets <= 0:
        return (max(time, EARLIEST) if time < 0 else LATEST,)
    if time == LATEST:
        return (LATEST,) if partition.max_num_offsets == 1 else (LATEST, EARLIEST)
    return time, LATEST, EARLIEST


async def _ask(
    call: TranslatedCall, replica_id: int, lookups: Sequence[Lookup]
) -> dict[Lookup, ListOffsetsPartitionResponse]:
    """The answers to lookups that name each partition once."""
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, index), time in lookups:
        by_topic.setdefault(topic, []).append(ListOffsetsPartition(partition_index=index, timestamp=time))
    topics = [ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    response: ListOffsetsResponse = await call.ask(
        ListOffsetsRequest(replica_id=replica_id, topics=topics), call.sent_as
    )
    times = dict(lookups)
    return {
        ((topic.name, each.partition_index), times[topic.name, each.partition_index]): each
        for topic in response.topics
        for each in topic.partitions
        if (topic.name, each.partition_index) in times
    }


def _respond(
    key: PartitionKey, partition: ListOffsetsPartition, found: dict[Lookup, ListOffsetsPartitionResponse]
) -> ListOffsetsPartitionResponse:
    times = _lookups(partition)
    if not times:
        return _refuse(key, ErrorCode.UNSUPPORTED_VERSION)
    answers = [found.get((key, time)) for time in times]
    for answer in answers:
        if answer is None or answer.error_code:
            return _refuse(key, ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else answer.error_code)
    offsets = _offsets(partition, [answer.offset for answer in answers if answer is not None])
    return ListOffsetsPartitionResponse(partition_index=key[1], error_code=0, old_style_offsets=offsets)


def _refuse(key: PartitionKey, code: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=key[1], error_code=code, old_style_offsets=())


def _offsets(partition: ListOffsetsPartition, offsets: Sequence[int]) -> Sequence[int]:
    """The list for the offsets of `_lookups`."""
    most = max(0, partition.max_num_offsets)
    if partition.timestamp < 0:
        return list(dict.fromkeys(offsets))[:most]
    if not most:
        return ()
    at_time, latest, earliest = offsets
    if at_time == earliest:
        return ()
    newest = latest if at_time == NOT_FOUND else at_time
    return list(dict.fromkeys((newest, earliest)))[:most]
