"""Produce 0, 1, 2 as 3: the messages of a partition become one batch of magic 2, since 3 takes exactly one.

Checked before anything is sent, as Kafka 3.9.1 does it: an incomplete last message is left out, an empty set is
answered 0 with offset -1, a wrong checksum 2, and the other partitions are sent. Codec, order, timestamps stay.

A partition that is named twice in a request becomes one batch, too: Kafka keeps one of two batches and loses the other
without an error. Both are answered, the second with its own first offset.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...network.connection import CloseConnection
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
from ...protocol.records.batches import iter_batches
from ...protocol.records.builder import build_batch
from ...protocol.records.layout import MAGIC_V0, MAX_INT32, NO_PRODUCER_ID, Codec
from ...protocol.records.record import Record
from ...storage.validation.append_rules import AppendRules
from ...storage.validation.record_sets import prepare
from .call import Call

RULES = AppendRules(max_message_bytes=MAX_INT32, max_decompressed_bytes=64 << 20)
INLINE_BYTES = 16 * 1024
NO_OFFSET = -1
PartitionKey = tuple[str, int]


@dataclass(slots=True)
class _ProduceBatch:
    """What is sent of a partition. `counts`: the records of each time that it was named; -1: that was refused."""

    records: bytes = b""
    counts: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    without_timestamp: int = 0


async def translate(call: Call) -> ProduceResponse | None:
    request: ProduceRequest = call.request
    sets = _sets_of(request)
    size = 0
    for named in sets.values():
        for records in named:
            size += len(records)
            call.count_records(records)
    now_ms = call.clock.now_ms()
    if size <= INLINE_BYTES:
        batches = _convert_all(sets, now_ms)
    else:
        batches = await call.workers.run(lambda: _convert_all(sets, now_ms))
    _refuse_without_answer(request, batches)
    if missing := sum(batch.without_timestamp for batch in batches.values()):
        call.lose("timestamps", missing)
    topics = [
        TopicProduceData(name=topic, partition_data=partitions)
        for topic, partitions in _by_topic(request, batches)
        if partitions
    ]
    answered: dict[PartitionKey, PartitionProduceResponse] = {}
    throttle_ms = 0
    if topics:
        sent = ProduceRequest(acks=request.acks, timeout_ms=request.timeout_ms, topic_data=topics)
        response: ProduceResponse | None = await call.ask(sent, call.sent_as, is_answered=request.acks != 0)
        if response is not None:
            throttle_ms = response.throttle_time_ms
            answered = {
                (topic.name, each.index): each for topic in response.responses for each in topic.partition_responses
            }
    return None if request.acks == 0 else _respond(request, batches, answered, throttle_ms)


def _sets_of(request: ProduceRequest) -> dict[PartitionKey, list[memoryview]]:
    sets: dict[PartitionKey, list[memoryview]] = {}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            records = memoryview(b"") if partition.records is None else memoryview(partition.records)
            sets.setdefault((topic.name, partition.index), []).append(records)
    return sets


def _refuse_without_answer(request: ProduceRequest, batches: dict[PartitionKey, _ProduceBatch]) -> None:
    """Raises: CloseConnection when a client that wants no answer has sent what is wrong, as Kafka does it."""
    if request.acks == 0:
        for (topic, index), batch in batches.items():
            if error := next(filter(None, batch.errors), 0):
                raise CloseConnection(f"records with acks=0 for {topic}-{index} that are refused: {error_name(error)}")


def _by_topic(
    request: ProduceRequest, batches: dict[PartitionKey, _ProduceBatch]
) -> Iterator[tuple[str, list[PartitionProduceData]]]:
    """What is to be sent, in the order asked, each partition once."""
    left = {key for key, batch in batches.items() if batch.records}
    for topic in request.topic_data:
        partitions = []
        for partition in topic.partition_data:
            key = topic.name, partition.index
            if key in left:
                left.remove(key)
                partitions.append(PartitionProduceData(index=partition.index, records=batches[key].records))
        yield topic.name, partitions


def _convert_all(sets: dict[PartitionKey, list[memoryview]], now_ms: int) -> dict[PartitionKey, _ProduceBatch]:
    return {key: _convert(named, now_ms) for key, named in sets.items()}


def _convert(named: Sequence[memoryview], now_ms: int) -> _ProduceBatch:
    """The batch of a partition, out of each set that was sent for it."""
    batch = _ProduceBatch()
    converted: list[bytes] = []
    for records in named:
        try:
            data, count = _convert_set(records, now_ms)
        except ApiError as fault:
            batch.errors.append(int(fault.code))
            batch.counts.append(0)
        else:
            batch.errors.append(ErrorCode.NONE)
            batch.counts.append(count)
            batch.without_timestamp += count if count and records[16] == MAGIC_V0 else 0
            if data:
                converted.append(data)
    batch.records = converted[0] if len(converted) == 1 else b""
    if len(converted) > 1:
        batch.records, _ = _join([each for data in converted for each in iter_batches(data)])
    return batch


def _convert_set(records: memoryview, now_ms: int) -> tuple[bytes, int]:
    """One batch of magic 2 with all messages of a set, and how many they are. Raises: ApiError."""
    batches = iter_batches(records)
    first = next(batches, None)
    if first is not None and (isinstance(first, RecordBatch) or first.is_compressed or _has_wrapper(records)):
        more = next(batches, None)
        if more is not None:
            return _join(list(iter_batches(records)))
    prepared = prepare(records, RULES, now_ms=now_ms)
    if not prepared.record_count:
        return b"", 0
    return b"".join(prepared.pieces(0, -1)), prepared.record_count


def _has_wrapper(records: memoryview) -> bool:
    """Whether not all messages are plain and of one magic."""
    magic = records[16]
    return any(batch.magic != magic or batch.attributes & 7 for batch in iter_batches(records))


def _join(batches: Sequence[object]) -> tuple[bytes, int]:
    """All records of several batches in one, in the codec of the first that has one. Raises: ApiError."""
    records: list[Record] = []
    codec = Codec.NONE
    for batch in batches:
        batch.ensure_valid()  # type: ignore[attr-defined]
        if batch.producer_id != NO_PRODUCER_ID:  # type: ignore[attr-defined]
            raise InvalidRecord("several batches of a producer with an id in one request")
        codec = codec or batch.codec  # type: ignore[attr-defined]
        for record in batch.records(RULES.max_decompressed_bytes):  # type: ignore[attr-defined]
            renumbered = Record(
                offset=len(records),
                timestamp=record.timestamp,
                key=record.key,
                value=record.value,
                headers=record.headers,
            )
            records.append(renumbered)
    try:
        return build_batch(records, codec=codec), len(records)
    except ValueError as fault:
        raise InvalidRecord(str(fault)) from None


def _respond(
    request: ProduceRequest,
    batches: dict[PartitionKey, _ProduceBatch],
    answered: dict[PartitionKey, PartitionProduceResponse],
    throttle_ms: int,
) -> ProduceResponse:
    turns = dict.fromkeys(batches, 0)
    topics = []
    for topic in request.topic_data:
        partitions = []
        for partition in topic.partition_data:
            key = topic.name, partition.index
            partitions.append(_answer(partition.index, batches[key], turns[key], answered.get(key)))
            turns[key] += 1
        topics.append(TopicProduceResponse(name=topic.name, partition_responses=partitions))
    return ProduceResponse(responses=topics, throttle_time_ms=throttle_ms)


def _answer(
    index: int, batch: _ProduceBatch, turn: int, answered: PartitionProduceResponse | None
) -> PartitionProduceResponse:
    """What became of a partition, the `turn`th time that it is named."""
    if batch.errors[turn] or not batch.counts[turn]:
        return PartitionProduceResponse(index=index, error_code=batch.errors[turn], base_offset=NO_OFFSET)
    if answered is None:
        return PartitionProduceResponse(index=index, error_code=ErrorCode.UNKNOWN_SERVER_ERROR, base_offset=NO_OFFSET)
    before = sum(batch.counts[:turn])
    offset = answered.base_offset + before if answered.base_offset >= 0 else answered.base_offset
    return PartitionProduceResponse(
        index=index,
        error_code=answered.error_code,
        base_offset=offset,
        log_append_time_ms=answered.log_append_time_ms,
    )
