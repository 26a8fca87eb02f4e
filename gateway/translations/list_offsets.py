"""ListOffsets 0 as 1: version 0 wants the offsets at which segments begin, newest first, and 1 gives one offset.

    asked                 answered
    no offset at all      an empty list
    the end, one offset   the end
    the end, more         the end and the beginning, once if they are equal
    the beginning         the beginning
    a time T              the first offset at T or later and the beginning; nothing before T: an empty list; nothing at
                          T or later: as the end
    below -2              UNSUPPORTED_VERSION

Version 0 may name a partition twice, for its end and its beginning. Version 1 may not, so each further timestamp of a
partition takes another request, `MOST_LOOKUPS` at most. The protocol does not say where segments begin; the answer for
a time is finer than Kafka's.
"""

from collections.abc import Sequence
from functools import partial

from ...network.answerer import CloseConnection
from ...network.turn import Turn
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
    wanted: dict[PartitionKey, dict[int, None]] = {}
    most, topics = 0, []
    for topic in request.topics:
        async for each in call.turn.each(topic.partitions):
            wanted.setdefault((topic.name, each.partition_index), {}).update(
                dict.fromkeys(_timestamps_to_look_up(each))
            )
            most = max(most, each.max_num_offsets)
        await call.turn.next()
    found: dict[Lookup, ListOffsetsPartitionResponse] = {}
    for lookups in await _plan_rounds(wanted, call.turn):
        await _look_up_round(call, request.replica_id, lookups, found)
    for topic in request.topics:
        partitions = await call.turn.map(partial(_make_partition_response, topic.name, found), topic.partitions)
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
        await call.turn.next()
    if most > 2:
        call.count_loss("segment lists", 1)
    return ListOffsetsResponse(topics=topics)


async def _plan_rounds(wanted: dict[PartitionKey, dict[int, None]], turn: Turn) -> Sequence[Sequence[Lookup]]:
    """What to look up, each partition once a round. Raises: CloseConnection."""
    rounds: list[list[Lookup]] = []
    async for key, times in turn.each(wanted.items()):
        if len(times) > MOST_LOOKUPS:
            raise CloseConnection(
                f"ListOffsets asks for {len(times)} times of a partition, {MOST_LOOKUPS} are the most"
            )
        rounds += ([] for _ in range(len(rounds), len(times)))
        for lookups, time in zip(rounds, times, strict=False):
            lookups.append((key, time))
    return rounds


def _timestamps_to_look_up(partition: ListOffsetsPartition) -> Sequence[int]:
    """The timestamps to look up by version 1 for what version 0 asks; none if it asks for one that is not valid."""
    time = partition.timestamp
    if time < EARLIEST:
        return ()
    if time == EARLIEST or partition.max_num_offsets <= 0:
        return (max(time, EARLIEST) if time < 0 else LATEST,)
    if time == LATEST:
        return (LATEST,) if partition.max_num_offsets == 1 else (LATEST, EARLIEST)
    return time, LATEST, EARLIEST


async def _look_up_round(
    call: TranslatedCall, replica_id: int, lookups: Sequence[Lookup], found: dict[Lookup, ListOffsetsPartitionResponse]
) -> None:
    """Asks the cluster for lookups that name each partition once; adds the answers to `found`."""
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    async for (name, index), time in call.turn.each(lookups):
        by_topic.setdefault(name, []).append(ListOffsetsPartition(partition_index=index, timestamp=time))
    topics = await call.turn.map(lambda each: ListOffsetsTopic(name=each[0], partitions=each[1]), by_topic.items())
    request = ListOffsetsRequest(replica_id=replica_id, topics=topics)
    response: ListOffsetsResponse = await call.ask(request, call.sent_as)
    times = dict(lookups)
    for topic in response.topics:
        async for each in call.turn.each(topic.partitions):
            key = topic.name, each.partition_index
            if key in times:
                found[key, times[key]] = each
        await call.turn.next()


def _make_partition_response(
    topic: str, found: dict[Lookup, ListOffsetsPartitionResponse], partition: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    times, key = _timestamps_to_look_up(partition), (topic, partition.partition_index)
    if not times:
        return _error_response(key, ErrorCode.UNSUPPORTED_VERSION)
    answers = [found.get((key, time)) for time in times]
    for answer in answers:
        if answer is None or answer.error_code:
            return _error_response(key, ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else answer.error_code)
    offsets = _old_style_offsets(partition, [answer.offset for answer in answers if answer is not None])
    return ListOffsetsPartitionResponse(partition_index=key[1], error_code=0, old_style_offsets=offsets)


def _error_response(key: PartitionKey, code: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=key[1], error_code=code, old_style_offsets=())


def _old_style_offsets(partition: ListOffsetsPartition, offsets: Sequence[int]) -> Sequence[int]:
    """The list of version 0, from the offsets found for `_timestamps_to_look_up`."""
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
