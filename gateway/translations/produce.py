"""Produce 0, 1, 2 as 3: messages become batches of magic 2, of which 3 takes exactly one a partition.

Checked before anything is sent, as Kafka 3.9.1 does it: an incomplete last message is left out, an empty set is
answered 0 with offset -1, a wrong checksum 2, and the other partitions are sent. Codec, order, timestamps stay.

Several wrappers of a set, and the sets of a partition that is named twice (of which Kafka keeps one and loses the other
without an error), go in one request after the other: to join them is to look at each message, of which a kilobyte may
hold a hundred thousand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...network.answerer import CloseConnection
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
"""Of a partition in a request. Kafka takes one where it is compressed."""
NO_OFFSET = -1
PartitionKey = tuple[str, int]


@dataclass(slots=True)
class _ProduceSet:
    """What a partition was sent, one of the times that it was named. `batches`: what is made of it; `answer`: what the
    cluster says of the first of them, or of the first that failed."""

    records: memoryview
    batches: list[bytes] = field(default_factory=list)
    without_timestamp: int = 0
    error: int = 0
    answer: PartitionProduceResponse | None = None


Sets = dict[PartitionKey, list[_ProduceSet]]


async def translate(call: TranslatedCall) -> ProduceResponse | None:
    request: ProduceRequest = call.request
    sets = _sets_of(request)
    all_sets = [each for named in sets.values() for each in named]
    for each in all_sets:
        call.count_records(each.records)
    await _convert_all(call, all_sets)
    for named in sets.values():
        _refuse_too_many(named)
    _refuse_without_answer(request, sets)
    if missing := sum(each.without_timestamp for each in all_sets):
        call.lose("timestamps", missing)
    throttle_ms = await _send_all(call, request, sets)
    return None if request.acks == 0 else _respond(request, sets, throttle_ms)


def _sets_of(request: ProduceRequest) -> Sets:
    sets: Sets = {}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            records = memoryview(b"") if partition.records is None else memoryview(partition.records)
            sets.setdefault((topic.name, partition.index), []).append(_ProduceSet(records))
    return sets


async def _convert_all(call: TranslatedCall, sets: Sequence[_ProduceSet]) -> None:
    """A worker converts what is large or may open to much, one set after the other: others have their turn between."""
    now_ms = call.clock.now_ms()
    is_large = sum(len(each.records) for each in sets) > INLINE_BYTES
    for each in sets:
        if not call.is_there():
            raise ConnectionResetError("the client has gone")
        if is_large or _is_compressed(each.records):
            await call.workers.run(lambda each=each: _convert(each, now_ms))  # type: ignore[misc]
        else:
            _convert(each, now_ms)


def _is_compressed(records: memoryview) -> bool:
    try:
        return any(batch.attributes & CODEC_MASK for batch in iter_batches(records))
    except ApiError:
        return True


def _convert(made: _ProduceSet, now_ms: int) -> None:
    try:
        for records in _split(made.records):
            prepared = prepare(records, RULES, now_ms=now_ms)
            if prepared.record_count:
                made.batches.append(b"".join(prepared.pieces(0, -1)))
                made.without_timestamp += prepared.record_count if records[16] == MAGIC_V0 else 0
    except ApiError as fault:
        made.error, made.batches = int(fault.code), []


def _split(records: memoryview) -> Iterator[memoryview]:
    """The parts of a set of which each becomes one batch: a compressed one, or plain messages of one magic. Raises:
    ApiError."""
    begin = at = parts = 0
    last: tuple[int, bool] | None = None
    for batch in iter_batches(records):
        kind = batch.magic, _stands_alone(batch)
        if last is not None and (kind[1] or kind != last):
            yield records[begin:at]
            begin, parts = at, parts + 1
            if parts >= MOST_BATCHES:
                raise InvalidRecord(f"a set of more than {MOST_BATCHES} batches")
        last = kind
        at += batch.size_bytes
    yield records[begin:]


def _stands_alone(batch: Batch) -> bool:
    return isinstance(batch, RecordBatch) or batch.is_compressed


def _refuse_too_many(named: Sequence[_ProduceSet]) -> None:
    """Those of a partition that are beyond what is sent of it."""
    count = 0
    for each in named:
        count += len(each.batches)
        if count > MOST_BATCHES:
            each.error, each.batches = ErrorCode.INVALID_RECORD, []


def _refuse_without_answer(request: ProduceRequest, sets: Sets) -> None:
    """Raises: CloseConnection when a client that wants no answer has sent what is wrong, as Kafka does it."""
    if request.acks == 0:
        for (topic, index), named in sets.items():
            if error := next((each.error for each in named if each.error), 0):
                raise CloseConnection(f"records with acks=0 for {topic}-{index} that are refused: {error_name(error)}")


async def _send_all(call: TranslatedCall, request: ProduceRequest, sets: Sets) -> int:
    """Sends all batches, of each partition one a request, and notes the answers; for how long to throttle, in ms."""
    left = {key: [(each, data) for each in named for data in each.batches] for key, named in sets.items()}
    throttle_ms = 0
    for number in range(max(map(len, left.values()), default=0)):
        sent = {key: batches[number] for key, batches in left.items() if len(batches) > number}
        sent = {key: (each, data) for key, (each, data) in sent.items() if not each.error}
        if not sent:
            continue
        data = ProduceRequest(acks=request.acks, timeout_ms=request.timeout_ms, topic_data=_by_topic(sent))
        response: ProduceResponse | None = await call.ask(data, call.sent_as, is_answered=request.acks != 0)
        if response is not None:
            throttle_ms = max(throttle_ms, response.throttle_time_ms)
            _note_answers(sent, response)
    return throttle_ms


def _by_topic(sent: dict[PartitionKey, tuple[_ProduceSet, bytes]]) -> list[TopicProduceData]:
    topics: dict[str, list[PartitionProduceData]] = {}
    for (topic, index), (_, data) in sent.items():
        topics.setdefault(topic, []).append(PartitionProduceData(index=index, records=data))
    return [TopicProduceData(name=topic, partition_data=partitions) for topic, partitions in topics.items()]


def _note_answers(sent: dict[PartitionKey, tuple[_ProduceSet, bytes]], response: ProduceResponse) -> None:
    answers = {(topic.name, each.index): each for topic in response.responses for each in topic.partition_responses}
    for key, (each, _) in sent.items():
        answer = answers.get(key)
        each.error = ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else answer.error_code
        if each.answer is None or each.error:
            each.answer = answer


def _respond(request: ProduceRequest, sets: Sets, throttle_ms: int) -> ProduceResponse:
    left = {key: iter(named) for key, named in sets.items()}
    topics = []
    for topic in request.topic_data:
        partitions = [_answer(each.index, next(left[topic.name, each.index])) for each in topic.partition_data]
        topics.append(TopicProduceResponse(name=topic.name, partition_responses=partitions))
    return ProduceResponse(responses=topics, throttle_time_ms=throttle_ms)


def _answer(index: int, named: _ProduceSet) -> PartitionProduceResponse:
    """What became of a partition, one of the times that it is named."""
    answer = named.answer
    if answer is None:
        return PartitionProduceResponse(index=index, error_code=named.error, base_offset=NO_OFFSET)
    return PartitionProduceResponse(
        index=index,
        error_code=named.error,
        base_offset=answer.base_offset,
        log_append_time_ms=answer.log_append_time_ms,
    )
