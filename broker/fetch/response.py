"""Builds the Fetch response from the readings of its partitions."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import overload

from ...protocol.errors import ErrorCode
from ...protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from ...protocol.schema import NO_UUID, Piece, SizedPiece, fast_constructor
from ..metadata.image import MetadataImage
from .downconversion import Refusal
from .partition_reading import FetchParams, PartitionReading, aborted_transactions
from .session import FetchContext, Interest

FIRST_VERSION_WITH_NULL_RECORDS = 4
LAST_VERSION_WITHOUT_STORAGE_ERROR = 5
NO_EPOCH = EpochEndOffset()

make_partition = fast_constructor(PartitionData)
make_topic = fast_constructor(FetchableTopicResponse)
make_response = fast_constructor(FetchResponse)
PartitionAnswer = tuple[Interest, PartitionData]


class AbortedTransactions(Sequence[AbortedTransaction]):
    """A sequence that takes 16 bytes for each: there may be hundreds of thousands."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._numbers = array("q", chain.from_iterable(pairs))

    def __len__(self) -> int:
        return len(self._numbers) // 2

    @overload
    def __getitem__(self, at: int) -> AbortedTransaction: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[AbortedTransaction]: ...

    def __getitem__(self, at: int | slice) -> AbortedTransaction | Sequence[AbortedTransaction]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return AbortedTransaction(producer_id=self._numbers[2 * at], first_offset=self._numbers[2 * at + 1])

    def __iter__(self) -> Iterator[AbortedTransaction]:
        numbers = iter(self._numbers)
        for producer_id, first_offset in zip(numbers, numbers, strict=True):
            yield AbortedTransaction(producer_id=producer_id, first_offset=first_offset)


def response_of(
    context: FetchContext, answers: list[PartitionAnswer], cluster: MetadataImage, listener: str
) -> FetchResponse:
    """The response with those of the answers that the client needs, and the endpoints of leaders that have moved."""
    session = context.session
    told, session_id = (answers, 0) if session is None else (context.select(answers), session.session_id)
    failures = [data for _, data in told if data.error_code]
    if not failures:
        return make_response(session_id=session_id, responses=by_topic(told))
    told.sort(key=_is_answered_last)
    return FetchResponse(
        session_id=session_id,
        responses=by_topic(told),
        node_endpoints=_new_leader_endpoints(cluster, failures, listener),
    )


def partition_data(
    reading: PartitionReading, converted: SizedPiece | Refusal | None, params: FetchParams
) -> PartitionData:
    if isinstance(converted, Refusal):
        return partition_error(
            reading.interest, converted.code, params.version, records_are_null=converted.hides_reading
        )
    records: Piece = converted if converted is not None else reading.slice if reading.slice.size_bytes else b""
    if not reading.ends_wait and not params.reads_committed:
        return make_partition(
            partition_index=reading.interest.index,
            high_watermark=reading.high_watermark,
            last_stable_offset=reading.last_stable_offset,
            log_start_offset=reading.log_start_offset,
            aborted_transactions=None,
            records=records,
        )
    code = error_code_for_version(reading.error, params.version)
    aborted = aborted_transactions(reading, params)
    return PartitionData(
        partition_index=reading.interest.index,
        error_code=code,
        high_watermark=reading.high_watermark,
        last_stable_offset=reading.last_stable_offset,
        log_start_offset=reading.log_start_offset,
        diverging_epoch=_diverging_epoch(reading),
        preferred_read_replica=reading.preferred_replica,
        current_leader=_current_leader(reading, code, params.version),
        aborted_transactions=None if aborted is None else AbortedTransactions(aborted),
        records=records,
    )


def _diverging_epoch(reading: PartitionReading) -> EpochEndOffset:
    if reading.divergence is None:
        return NO_EPOCH
    return EpochEndOffset(epoch=reading.divergence.epoch, end_offset=reading.divergence.end_offset)


def _current_leader(reading: PartitionReading, code: ErrorCode, version: int) -> LeaderIdAndEpoch:
    moved = code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
    if version < 16 or not moved or reading.partition is None:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=reading.partition.leader_id, leader_epoch=reading.partition.leader_epoch)


def partition_error(
    interest: Interest, code: ErrorCode, version: int, *, records_are_null: bool = False
) -> PartitionData:
    """An answer with an error, without offsets.

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


def error_code_for_version(code: ErrorCode, version: int) -> ErrorCode:
    """Replaces KAFKA_STORAGE_ERROR for old clients, which refresh metadata on NOT_LEADER_OR_FOLLOWER."""
    if code == ErrorCode.KAFKA_STORAGE_ERROR and version <= LAST_VERSION_WITHOUT_STORAGE_ERROR:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return code


def _new_leader_endpoints(
    cluster: MetadataImage, failures: Sequence[PartitionData], listener: str
) -> tuple[NodeEndpoint, ...]:
    """The endpoints of the leaders that the failures name, at the caller's listener."""
    found = {}
    for data in failures:
        node = cluster.brokers.get(data.current_leader.leader_id)
        endpoint = None if node is None else node.endpoints.get(listener)
        if node is not None and endpoint is not None:
            found[node.node_id] = NodeEndpoint(
                node_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack
            )
    return tuple(found.values())


def _is_answered_last(answer: PartitionAnswer) -> bool:
    """Whether the answer comes after all others, as Kafka's for unknown and unauthorized topics."""
    return answer[1].error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )


def by_topic(answers: Sequence[PartitionAnswer]) -> Sequence[FetchableTopicResponse]:
    """Groups neighbours of one topic into an entry; the order of the answers stays."""
    topics: list[FetchableTopicResponse] = []
    partitions: list[PartitionData] = []
    name, topic_id = "", NO_UUID
    for interest, data in answers:
        is_other = interest.topic_id is not topic_id and interest.topic_id != topic_id
        if not topics or is_other or interest.topic != name:
            name, topic_id, partitions = interest.topic, interest.topic_id, []
            topics.append(make_topic(topic=name, topic_id=topic_id, partitions=partitions))
        partitions.append(data)
    return topics
