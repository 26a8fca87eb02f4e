"""Produce 0, 1, 2 as 3: messages become batches of magic 2. Produce 3 takes exactly one batch for a partition.

Checked before anything is sent, as Kafka 3.9.1 does it: an incomplete last message is left out, an empty set is
answered 0 with offset -1, a wrong checksum 2, and the other partitions are sent. Codec, order, timestamps stay.

Several wrappers of a set, and the sets of a partition that is named twice (of which Kafka keeps one and loses the other
without an error), go in one request after the other: joining them would mean parsing every message, and one compressed
kilobyte may hold a hundred thousand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ...network.answerer import CloseConnection
from ...network.clients.losses import TIMESTAMPS, choose_topics
from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode, InvalidRecord, error_name
from ...protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import Batch, iter_batches
from ...protocol.records.layout import CODEC_MASK, MAGIC_V0, MAX_INT32
from ...storage.validation.append_rules import AppendRules
from ...storage.validation.record_sets import prepare
from .translated_call import TranslatedCall

RULES = AppendRules(max_message_bytes=MAX_INT32, max_decompressed_bytes=64 << 20)
INLINE_BYTES = 16 * 1024
MOST_BATCHES = 16
"""The most batches made of one partition's records in a request. Kafka takes only one if it is compressed."""
NO_OFFSET = -1
PartitionKey = tuple[str, int]


@dataclass(slots=True)
class _ProduceSet:
    """The records of one mention of a partition in the request. `batches`: the batches made of them; `answer`: the
    cluster's answer for the first batch, or for the first that failed."""

    records: memoryview
    batches: list[bytes] = field(default_factory=list)
    without_timestamp: int = 0
    error: int = 0
    answer: PartitionProduceResponse | None = None

    @property
    def loses_timestamps(self) -> bool:
        """Whether messages were stored without a timestamp, because the topic does not use LogAppendTime. With acks=0
        that is assumed."""
        return (
            self.without_timestamp > 0
            and not self.error
            and (self.answer is None or self.answer.log_append_time_ms < 0)
        )


Sets = dict[PartitionKey, list[_ProduceSet]]
SentBatches = dict[PartitionKey, tuple[_ProduceSet, bytes]]
"""By partition: the set that its one batch in this request was made from, and the batch."""


async def translate(call: TranslatedCall) -> ProduceResponse | None:
    request: ProduceRequest = call.request
    sets = await _collect_sets(call)
    await _convert_all(call, sets)
    async for key, named in call.turn.each(sets.items()):
        _refuse_sets_over_limit(named)
        if request.acks == 0:
            _close_on_refused_set(key, named)
    throttle_ms = await _send_all(call, request, sets)
    missing = 0
    async for named in call.turn.each(sets.values()):
        missing += sum(each.without_timestamp for each in named if each.loses_timestamps)
    if missing:
        topics = (topic for (topic, _), named in sets.items() if any(each.loses_timestamps for each in named))
        call.count_loss(TIMESTAMPS, missing, choose_topics(topics))
    return None if request.acks == 0 else await _make_response(call, sets, throttle_ms)


async def _collect_sets(call: TranslatedCall) -> Sets:
    sets: Sets = {}
    for topic in call.request.topic_data:
        async for partition in call.turn.each(topic.partition_data):
            records = memoryview(b"") if partition.records is None else memoryview(partition.records)
            call.count_records(records)
            sets.setdefault((topic.name, partition.index), []).append(_ProduceSet(records))
        await call.turn.next()
    return sets


async def _convert_all(call: TranslatedCall, sets: Sets) -> None:
    """Converts one set after the other, yielding in between: in a worker if the request is large or the set is
    compressed."""
    now_ms, size = call.clock.now_ms(), 0
    async for named in call.turn.each(sets.values()):
        size += sum(len(each.records) for each in named)
    async for each in call.turn.each(each for named in sets.values() for each in named):
        if not call.is_there():
            raise ConnectionResetError("the client has gone")
        if size > INLINE_BYTES or _has_compressed(each.records):
            await call.run_in_worker(partial(_convert_set, each, now_ms))
        else:
            _convert_set(each, now_ms)


def _has_compressed(records: memoryview) -> bool:
    try:
        return any(batch.attributes & CODEC_MASK for batch in iter_batches(records))
    except ApiError:
        return True


def _convert_set(made: _ProduceSet, now_ms: int) -> None:
    try:
        for records in _split_into_batches(made.records):
            prepared = prepare(records, RULES, now_ms=now_ms)
            if prepared.record_count:
                made.batches.append(b"".join(prepared.pieces(0, -1)))
                made.without_timestamp += prepared.record_count if records[16] == MAGIC_V0 else 0
    except ApiError as fault:
        made.error, made.batches = int(fault.code), []


def _split_into_batches(records: memoryview) -> Iterator[memoryview]:
    """The parts of a set of which each becomes one batch: a compressed one, or plain messages of one magic. Raises:
    ApiError."""
    begin = at = parts = 0
    last: tuple[int, bool] | None = None
    for batch in iter_batches(records):
        kind = batch.magic, _becomes_own_batch(batch)
        if last is not None and (kind[1] or kind != last):
            yield records[begin:at]
            begin, parts = at, parts + 1
            if parts >= MOST_BATCHES:
                raise InvalidRecord(f"a set of more than {MOST_BATCHES} batches")
        last = kind
        at += batch.size_bytes
    yield records[begin:]


def _becomes_own_batch(batch: Batch) -> bool:
    return isinstance(batch, RecordBatch) or batch.is_compressed


def _refuse_sets_over_limit(named: Sequence[_ProduceSet]) -> None:
    """Refuses the sets of a partition from the one on that brings it above `MOST_BATCHES` batches."""
    count = 0
    for each in named:
        count += len(each.batches)
        if count > MOST_BATCHES:
            each.error, each.batches = ErrorCode.INVALID_RECORD, []


def _close_on_refused_set(key: PartitionKey, named: Sequence[_ProduceSet]) -> None:
    """Closes the connection if a set is refused; with acks=0 Kafka does so, too. Raises: CloseConnection."""
    if error := next((each.error for each in named if each.error), 0):
        topic, index = key
        raise CloseConnection(f"records with acks=0 for {topic}-{index} that are refused: {error_name(error)}")


async def _send_all(call: TranslatedCall, request: ProduceRequest, sets: Sets) -> int:
    """Sends all batches, one of each partition in a request, and keeps the answers; returns the throttle time in ms."""
    turn = call.turn
    left = {
        key: [(each, data) for each in named for data in each.batches] async for key, named in turn.each(sets.items())
    }
    throttle_ms = 0
    for number in range(max(map(len, left.values()), default=0)):
        sent = {
            key: batches[number]
            async for key, batches in turn.each(left.items())
            if len(batches) > number and not batches[number][0].error
        }
        if not sent:
            continue
        topics = await _group_by_topic(sent, turn)
        data = ProduceRequest(acks=request.acks, timeout_ms=request.timeout_ms, topic_data=topics)
        response: ProduceResponse | None = await call.ask(data, call.sent_as, is_answered=request.acks != 0)
        if response is not None:
            throttle_ms = max(throttle_ms, response.throttle_time_ms)
            await _note_answers(sent, response, turn)
    return throttle_ms


async def _group_by_topic(sent: SentBatches, turn: Turn) -> list[TopicProduceData]:
    topics: dict[str, list[PartitionProduceData]] = {}
    async for (topic, index), (_, data) in turn.each(sent.items()):
        topics.setdefault(topic, []).append(PartitionProduceData(index=index, records=data))
    return await turn.map(lambda each: TopicProduceData(name=each[0], partition_data=each[1]), topics.items())


async def _note_answers(sent: SentBatches, response: ProduceResponse, turn: Turn) -> None:
    named = ((topic.name, each) for topic in response.responses for each in topic.partition_responses)
    answers = {(topic, each.index): each async for topic, each in turn.each(named)}
    async for key, (each, _) in turn.each(sent.items()):
        answer = answers.get(key)
        each.error = ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else answer.error_code
        if each.answer is None or each.error:
            each.answer = answer


async def _make_response(call: TranslatedCall, sets: Sets, throttle_ms: int) -> ProduceResponse:
    turn, topics = call.turn, []
    left = {key: iter(named) async for key, named in turn.each(sets.items())}
    for topic in call.request.topic_data:
        partitions = [
            _make_partition_response(each.index, next(left[topic.name, each.index]))
            async for each in turn.each(topic.partition_data)
        ]
        topics.append(TopicProduceResponse(name=topic.name, partition_responses=partitions))
        await turn.next()
    return ProduceResponse(responses=topics, throttle_time_ms=throttle_ms)


def _make_partition_response(index: int, named: _ProduceSet) -> PartitionProduceResponse:
    """The response for one mention of a partition."""
    answer = named.answer
    if answer is None:
        return PartitionProduceResponse(index=index, error_code=named.error, base_offset=NO_OFFSET)
    return PartitionProduceResponse(
        index=index,
        error_code=named.error,
        base_offset=answer.base_offset,
        log_append_time_ms=answer.log_append_time_ms,
    )
