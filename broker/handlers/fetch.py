"""Fetch, versions 0-17 (KIP-74, 98, 110, 227, 283, 320, 392, 516, 595, 951).

Reads what is asked for within its limits, waits for `min_bytes` or `max_wait_ms`, converts down for versions below 4,
and answers with slices that are read, or converted, as they are sent.

Version notes: v0 has no throttle time; v0-v2 hard limits; v3 a limit for the response and KIP-74's first batch; v4
isolation; v5 log start; v7 sessions; v9 leader epochs; v10 zstd; v12 divergence; v13 topic ids; v16 endpoints of a
new leader. Not here: preferred read replicas (one replica), throttling.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING
from uuid import UUID

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from ...protocol.schema import NO_UUID, Piece, SizedPiece
from ..cluster import Topic
from ..conversion import SLICES_A_TURN, Refusal, convert_for
from ..dispatch import Call
from ..metrics import Metrics
from ..partition import READ_COMMITTED
from ..reading import FIRST_VERSION_WITH_SOFT_LIMITS, Reading, Terms, aborted_transactions, has_enough, read_all
from ..session import FIRST_VERSION_WITH_SESSIONS, FetchContext, Interest, interests_of, records_bytes, replica_id_of

if TYPE_CHECKING:
    from ..broker import Broker

FIRST_VERSION_WITH_NULL_RECORDS = 4
LAST_VERSION_WITHOUT_STORAGE_ERROR = 5
NO_EPOCH = EpochEndOffset()
Answer = tuple[Interest, PartitionData]
# What a client brings about, or finds at any time; the count of failures is for others.
EXPECTED_FAILURES = (
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
)


async def handle(broker: "Broker", request: FetchRequest, call: Call) -> FetchResponse:
    try:
        context = broker.sessions.open(request, call.version, broker.clock.now_ms())
    except ApiError as error:
        return FetchResponse(error_code=error.code)
    terms = _terms(broker, request, call.version)
    answers = await _answer(broker, context, terms, request.max_wait_ms, call)
    if answers is None:
        return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=context.session_id)
    told = context.select(answers)
    if not any(data.error_code for _, data in told):
        return FetchResponse(session_id=context.session_id, responses=_by_topic(told))
    told.sort(key=_is_unknown)
    return FetchResponse(
        session_id=context.session_id,
        responses=_by_topic(told),
        node_endpoints=_new_leaders(broker, told, call.peer.listener),
    )


def refuse(request: FetchRequest, error: ApiError, call: Call) -> FetchResponse:
    code = _code_for(error.code, call.version)
    if call.version >= FIRST_VERSION_WITH_SESSIONS:
        return FetchResponse(error_code=code)
    return FetchResponse(
        responses=_by_topic([(i, _failed(i, code, call.version)) for i in interests_of(request)]),
        error_code=ErrorCode.NONE,
    )


def _terms(broker: "Broker", request: FetchRequest, version: int) -> Terms:
    max_bytes = broker.settings.fetch_max_bytes
    if version >= FIRST_VERSION_WITH_SOFT_LIMITS and request.max_bytes < max_bytes:
        max_bytes = request.max_bytes
    return Terms(
        version, replica_id_of(request, version), request.isolation_level, max_bytes, min(request.min_bytes, max_bytes)
    )


async def _answer(
    broker: "Broker", context: FetchContext, terms: Terms, max_wait_ms: int, call: Call
) -> list[Answer] | None:
    """What each partition is answered, at once or when there is enough; None when the session went on meanwhile."""
    interests = context.interests
    async with _turn(broker, interests):
        readings = await read_all(broker.cluster, interests, terms, broker.breathe)
        if _is_due(readings, terms, max_wait_ms):
            return await _converted(broker, context, readings, terms)
        watched = [reading.partition.key for reading in readings if reading.partition is not None]
        del readings
    parked = perf_counter()
    in_time = await broker.fetch_purgatory.wait(
        watched, lambda: has_enough(broker.cluster, interests, terms), max_wait_ms, peer=call.peer
    )
    call.waited_s = perf_counter() - parked
    if not in_time:
        broker.metrics.fetch_expirations.of("follower" if terms.is_follower else "consumer").add()
    async with _turn(broker, interests):
        readings = await read_all(broker.cluster, interests, terms, broker.breathe)
        return await _converted(broker, context, readings, terms)


def _turn(broker: "Broker", interests: Sequence[Interest]) -> AbstractAsyncContextManager[None]:
    """Few of the fetches that give the loop to others on their way are made at once: what they hold meanwhile adds up.

    They get their turns in the order they came; others pass.
    """
    return broker.long_fetches if len(interests) > SLICES_A_TURN else nullcontext()


def _is_due(readings: Sequence[Reading], terms: Terms, max_wait_ms: int) -> bool:
    if max_wait_ms <= 0 or not readings:
        return True
    size_bytes = 0
    for reading in readings:
        if reading.ends_wait:
            return True
        size_bytes += reading.slice.size_bytes
    return size_bytes >= terms.min_bytes


async def _converted(
    broker: "Broker", context: FetchContext, readings: Sequence[Reading], terms: Terms
) -> list[Answer] | None:
    if context.is_overtaken:
        return None
    lazy = await convert_for(broker, readings, terms)
    answers = [(r.interest, _partition_data(r, lazy.get(i), terms)) for i, r in enumerate(readings)]
    _count(broker, readings, answers, terms)
    return answers


def _partition_data(reading: Reading, lazy: SizedPiece | Refusal | None, terms: Terms) -> PartitionData:
    if isinstance(lazy, Refusal):
        return _failed(reading.interest, lazy.code, terms.version, records_are_null=lazy.hides_reading)
    records: Piece = lazy if lazy is not None else reading.slice if reading.slice.size_bytes else b""
    if not reading.ends_wait and terms.isolation_level != READ_COMMITTED:
        return PartitionData(
            partition_index=reading.interest.index,
            high_watermark=reading.high_watermark,
            last_stable_offset=reading.last_stable_offset,
            log_start_offset=reading.log_start_offset,
            aborted_transactions=None,
            records=records,
        )
    code = _code_for(reading.error, terms.version)
    aborted = aborted_transactions(reading, terms)
    return PartitionData(
        partition_index=reading.interest.index,
        error_code=code,
        high_watermark=reading.high_watermark,
        last_stable_offset=reading.last_stable_offset,
        log_start_offset=reading.log_start_offset,
        diverging_epoch=_diverging(reading),
        current_leader=_current_leader(reading, code, terms.version),
        aborted_transactions=None
        if aborted is None
        else tuple(AbortedTransaction(producer_id=pid, first_offset=first) for pid, first in aborted),
        records=records,
    )


def _diverging(reading: Reading) -> EpochEndOffset:
    if reading.divergence is None:
        return NO_EPOCH
    return EpochEndOffset(epoch=reading.divergence.epoch, end_offset=reading.divergence.end_offset)


def _current_leader(reading: Reading, code: ErrorCode, version: int) -> LeaderIdAndEpoch:
    moved = code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
    if version < 16 or not moved or reading.partition is None:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=reading.partition.leader_id, leader_epoch=reading.partition.leader_epoch)


def _failed(interest: Interest, code: ErrorCode, version: int, *, records_are_null: bool = False) -> PartitionData:
    """An answer without offsets.

    Clients before 0.10.2 cannot read null records, so they get an empty set (Kafka 3.x sends null).
    """
    is_null = records_are_null and version >= FIRST_VERSION_WITH_NULL_RECORDS
    return PartitionData(
        partition_index=interest.index,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        records=None if is_null else b"",
    )


def _code_for(code: ErrorCode, version: int) -> ErrorCode:
    """Old clients do not know KAFKA_STORAGE_ERROR; they refresh metadata on NOT_LEADER_OR_FOLLOWER."""
    if code == ErrorCode.KAFKA_STORAGE_ERROR and version <= LAST_VERSION_WITHOUT_STORAGE_ERROR:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return code


def _count(
    broker: "Broker", readings: Sequence[Reading], answers: Sequence[tuple[Interest, PartitionData]], terms: Terms
) -> None:
    metrics = broker.metrics
    metrics.requests.of("FetchFollower" if terms.is_follower else "FetchConsumer", str(terms.version)).add()
    topic, partitions, size_bytes = None, 0, 0
    for reading, (_, data) in zip(readings, answers, strict=True):
        if reading.topic is not topic:
            _count_topic(metrics, topic, partitions, size_bytes, terms)
            topic, partitions, size_bytes = reading.topic, 0, 0
        partitions += 1
        size_bytes += records_bytes(data)
        if reading.error and topic is not None and reading.error not in EXPECTED_FAILURES:
            metrics.failed_fetch_requests.of(topic.name).add()
    _count_topic(metrics, topic, partitions, size_bytes, terms)


def _count_topic(metrics: Metrics, topic: Topic | None, partitions: int, size_bytes: int, terms: Terms) -> None:
    if topic is None:
        return
    metrics.fetch_partition_requests.of(topic.name).add(partitions)
    if not terms.is_follower:
        metrics.bytes_out.of(topic.name).add(size_bytes)
        metrics.fetch_bytes.of(str(terms.version)).add(size_bytes)


def _new_leaders(
    broker: "Broker", answers: Sequence[tuple[Interest, PartitionData]], listener: str
) -> tuple[NodeEndpoint, ...]:
    """Where the leaders that answers name listen, on the caller's listener."""
    found = {}
    for _, data in answers:
        node = broker.cluster.brokers.get(data.current_leader.leader_id)
        endpoint = None if node is None else node.endpoints.get(listener)
        if node is not None and endpoint is not None:
            found[node.node_id] = NodeEndpoint(
                node_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack
            )
    return tuple(found.values())


def _is_unknown(answer: tuple[Interest, PartitionData]) -> bool:
    """Kafka answers for what it does not know after all others."""
    return answer[1].error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def _by_topic(answers: Sequence[tuple[Interest, PartitionData]]) -> tuple[FetchableTopicResponse, ...]:
    """Neighbours of one topic share an entry; the order of the answers stays."""
    topics: list[tuple[str, UUID, list[PartitionData]]] = []
    partitions: list[PartitionData] = []
    name, topic_id = "", NO_UUID
    for interest, data in answers:
        is_other = interest.topic_id is not topic_id and interest.topic_id != topic_id
        if not topics or is_other or interest.topic != name:
            name, topic_id, partitions = interest.topic, interest.topic_id, []
            topics.append((name, topic_id, partitions))
        partitions.append(data)
    return tuple(
        FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=partitions)
        for name, topic_id, partitions in topics
    )
