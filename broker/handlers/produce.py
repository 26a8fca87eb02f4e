"""Produce, versions 0-11 (KIP-32, 82, 98, 107, 110, 467, 482, 890, 951).

Each partition of a request stands or falls alone: checked, appended, answered. With acks -1 the answer waits until the
in-sync replicas have what was written, with acks 1 it does not, and with acks 0 there is none: an error then closes the
connection, so that the client asks for metadata again.

Order of checks for a partition (Kafka 3.9 `KafkaApis`, `ReplicaManager`, `Partition`): known, fit for the version, acks
in -1 to 1, not internal, led here, enough replicas; then the records (`storage/append.py`), then, for the first of a
transaction, whether the partition is part of it (KIP-890), then the log.

Version notes: v0 answers no throttle time, v2 log append time, v5 log start, v8 record errors and messages, v10 the new
leader, v11 TRANSACTION_ABORTABLE where it was INVALID_TXN_STATE. v0-v2 may carry any magic; from v3 on one batch of
magic 2, from v7 on zstd.

Other than Kafka: a message goes with every error, not only with record errors; a frame that
cannot be read fails its partition, not all of them; and what fails unexpectedly fails its partition.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ...protocol.records.layout import (
    ATTRIBUTES_OFFSET,
    BATCH_HEADER,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_BIT,
)
from ...storage.append import check_version
from ...storage.log import AppendInfo
from ...storage.prepared import AppendOrigin, PreparedAppend
from ...storage.refusals import RecordErrors
from ..appending import EXPECTED_FAILURES, Effort, append
from ..cluster import Topic
from ..connection import CloseConnection
from ..dispatch import Call
from ..partition import Partition
from ..transactions.verification import verify_produce

if TYPE_CHECKING:
    from ..broker import Broker

log = logging.getLogger(__name__)

ACKS_NONE = 0
ACKS_ALL = -1
ACKS = (ACKS_ALL, ACKS_NONE, 1)
ADMIN_CLIENT_ID = "__admin_client"
FIRST_VERSION_WITH_LEADERS = 10
FIRST_VERSION_WITH_ABORTABLE = 11
PARTITIONS_A_TURN = 16


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of one partition's records: `info`, or the `error` that kept them out."""

    topic: str
    index: int
    partition: Partition | None = None
    min_in_sync: int = 0
    reached_log: bool = True  # not so where the transaction coordinator knows better
    info: AppendInfo | None = None
    error: ApiError | None = None


async def handle(broker: "Broker", request: ProduceRequest, call: Call) -> ProduceResponse | None:
    _check_transactions(request)
    effort = Effort()
    outcomes = []
    for topic, data in _partitions(request):
        outcomes.append(await _produce(broker, request, topic.name, data, call, effort))
        if len(outcomes) % PARTITIONS_A_TURN == 0:
            await broker.breathe()
    broker.metrics.temporary_bytes.of("Produce").observe(effort.temporary_bytes)
    broker.metrics.conversion_seconds.of("Produce").observe(effort.seconds)
    if request.acks == ACKS_ALL:
        await _await_replicas(broker, outcomes, request.timeout_ms)
    if request.acks == ACKS_NONE:
        _check_unanswered(outcomes)
        return None
    return _response(broker, outcomes, call)


def refuse(request: ProduceRequest, error: ApiError, call: Call) -> ProduceResponse | None:
    if request.acks == ACKS_NONE:
        raise CloseConnection(f"a produce request with acks 0 failed: {error.code.name} {error}")
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                name=topic.name,
                partition_responses=tuple(
                    PartitionProduceResponse(
                        index=data.index, error_code=error.code, base_offset=-1, error_message=error.message
                    )
                    for data in topic.partition_data
                ),
            )
            for topic in request.topic_data
        )
    )


def _partitions(request: ProduceRequest) -> list[tuple[TopicProduceData, PartitionProduceData]]:
    return [(topic, data) for topic in request.topic_data for data in topic.partition_data]


def _check_transactions(request: ProduceRequest) -> None:
    """Raises: ApiError 53, 49 for the whole request."""
    producers = set()
    for _, data in _partitions(request):
        records = data.records
        if records is None or len(records) < RECORD_BATCH_OVERHEAD or records[MAGIC_OFFSET] != MAGIC_V2:
            continue
        if records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_BIT:
            producers.add(BATCH_HEADER.unpack_from(records)[9:11])
    if producers and request.transactional_id is None:
        raise ApiError(
            "transactional records without a transactional id", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        )
    if len(producers) > 1:
        raise ApiError(
            f"transactional records of {len(producers)} producers in one request", ErrorCode.INVALID_PRODUCER_ID_MAPPING
        )


async def _produce(
    broker: "Broker", request: ProduceRequest, name: str, data: PartitionProduceData, call: Call, effort: Effort
) -> Outcome:
    outcome = Outcome(topic=name, index=data.index)
    counted = False
    try:
        partition = broker.cluster.partition(name, data.index)
        topic = broker.cluster.topics[name]
        records = memoryview(b"" if data.records is None else data.records)
        check_version(records, call.version)
        if request.acks not in ACKS:
            raise ApiError(f"acks is -1, 0 or 1, found {request.acks}", ErrorCode.INVALID_REQUIRED_ACKS)
        broker.metrics.produce_partition_requests.of(name).add()
        counted = True
        _check_writable(broker, topic, call)
        outcome.partition = partition
        outcome.min_in_sync = _min_in_sync(topic, partition)
        _check_leader(broker, outcome, partition, request.acks)
        outcome.info = await append(
            broker,
            topic,
            partition,
            records,
            origin=AppendOrigin.CLIENT,
            effort=effort,
            check=partial(_check_transaction, broker, outcome, request.transactional_id, call.version),
        )
        _count_success(broker, name, outcome.info, len(records))
    except DiskFault as fault:
        log.error("appending to %s-%d for client %r failed: %s", name, data.index, call.client_id, fault)
        outcome.error = fault
    except ApiError as error:
        outcome.error = error
    except Exception:  # the partitions before this one are written: the request as a whole cannot fail any more
        log.exception("appending to %s-%d for client %r failed", name, data.index, call.client_id)
        outcome.error = ApiError("unexpected failure, see the broker's log", ErrorCode.UNKNOWN_SERVER_ERROR)
    if counted and outcome.error is not None and outcome.error.code not in EXPECTED_FAILURES:
        broker.metrics.failed_produce_requests.of(name).add()
    return outcome


def _check_transaction(
    broker: "Broker", outcome: Outcome, transactional_id: str | None, version: int, prepared: PreparedAppend
) -> None:
    """Raises: ApiError when a transaction's records come to a partition that is not part of it."""
    if transactional_id is None or not any(batch.is_transactional for batch in prepared.batches):
        return
    assert outcome.partition is not None
    first = prepared.batches[0]
    outcome.reached_log = False
    verify_produce(
        broker, outcome.partition, transactional_id, first.producer_id, first.producer_epoch,
        knows_abortable=version >= FIRST_VERSION_WITH_ABORTABLE,
    )  # fmt: skip
    outcome.reached_log = True


def _check_writable(broker: "Broker", topic: Topic, call: Call) -> None:
    if topic.is_internal and call.client_id != ADMIN_CLIENT_ID:
        raise ApiError(f"{topic.name} is an internal topic", ErrorCode.INVALID_TOPIC_EXCEPTION)


def _check_leader(broker: "Broker", outcome: Outcome, partition: Partition, acks: int) -> None:
    place = f"{outcome.topic}-{outcome.index}"
    if partition.leader_id != broker.cluster.node_id:
        raise ApiError(f"{place} is led by broker {partition.leader_id}", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if acks == ACKS_ALL and len(partition.isr) < outcome.min_in_sync:
        raise ApiError(
            f"{place} has {len(partition.isr)} replicas in sync, min.insync.replicas asks for {outcome.min_in_sync}",
            ErrorCode.NOT_ENOUGH_REPLICAS,
        )


def _min_in_sync(topic: Topic, partition: Partition) -> int:
    return min(topic.settings.min_insync_replicas, len(partition.replicas))


def _count_success(broker: "Broker", name: str, info: AppendInfo, received_bytes: int) -> None:
    if info.last_offset >= 0:
        broker.metrics.bytes_in.of(name).add(received_bytes)
        broker.metrics.messages_in.of(name).add(info.last_offset - info.first_offset + 1)


async def _await_replicas(broker: "Broker", outcomes: Sequence[Outcome], timeout_ms: int) -> None:
    """Turns a success into REQUEST_TIMED_OUT, NOT_LEADER or NOT_ENOUGH_REPLICAS_AFTER_APPEND; the records stay."""
    waiting = [outcome for outcome in outcomes if outcome.info is not None and outcome.info.last_offset >= 0]
    if not waiting:
        return
    keys = [outcome.partition.key for outcome in waiting if outcome.partition is not None]
    await broker.produce_purgatory.wait(
        keys, lambda: all(_is_settled(broker, outcome) for outcome in waiting), max(0, timeout_ms)
    )
    for outcome in waiting:
        outcome.error = _verdict(broker, outcome)


def _is_settled(broker: "Broker", outcome: Outcome) -> bool:
    partition, info = outcome.partition, outcome.info
    assert partition is not None and info is not None
    return partition.leader_id != broker.cluster.node_id or partition.high_watermark > info.last_offset


def _verdict(broker: "Broker", outcome: Outcome) -> ApiError | None:
    partition = outcome.partition
    assert partition is not None
    place = f"{outcome.topic}-{outcome.index}"
    if not _is_settled(broker, outcome):
        return ApiError(f"{place}: written, but not replicated in time", ErrorCode.REQUEST_TIMED_OUT)
    if partition.leader_id != broker.cluster.node_id:
        return ApiError(f"{place} is led by broker {partition.leader_id} now", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if len(partition.isr) < outcome.min_in_sync:
        return ApiError(
            f"{place}: written, but only {len(partition.isr)} replicas are in sync",
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        )
    return None


def _check_unanswered(outcomes: Sequence[Outcome]) -> None:
    """Raises: CloseConnection when a partition failed: with acks 0 that is the only sign there can be."""
    failed = [f"{o.topic}-{o.index} {o.error.code.name}" for o in outcomes if o.error is not None]
    if failed:
        raise CloseConnection(f"a produce request with acks 0 failed: {', '.join(failed)}")


def _response(broker: "Broker", outcomes: Sequence[Outcome], call: Call) -> ProduceResponse:
    by_topic: dict[str, list[PartitionProduceResponse]] = {}
    for outcome in outcomes:
        by_topic.setdefault(outcome.topic, []).append(_partition_response(outcome, call.version))
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(name=name, partition_responses=tuple(partitions))
            for name, partitions in by_topic.items()
        ),
        node_endpoints=_new_leaders(broker, outcomes, call),
    )


def _partition_response(outcome: Outcome, version: int) -> PartitionProduceResponse:
    info, error = outcome.info, outcome.error
    if error is None:
        assert info is not None
        return PartitionProduceResponse(
            index=outcome.index,
            error_code=ErrorCode.NONE,
            base_offset=info.first_offset,
            log_append_time_ms=info.log_append_time_ms,
            log_start_offset=info.log_start_offset,
        )
    errors = error.errors if isinstance(error, RecordErrors) else ()
    return PartitionProduceResponse(
        index=outcome.index,
        error_code=error.code,
        base_offset=-1 if info is None else info.first_offset,
        log_append_time_ms=-1 if info is None else info.log_append_time_ms,
        log_start_offset=_log_start(outcome, error),
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=text) for i, text in errors
        ),
        error_message=error.message,
        current_leader=_leader(outcome, version),
    )


def _log_start(outcome: Outcome, error: ApiError) -> int:
    """Known once the records reached the log's checks; left out for failures that a producer handles by itself."""
    if outcome.info is not None:
        return outcome.info.log_start_offset
    if outcome.partition is None or not outcome.reached_log or error.code in EXPECTED_FAILURES:
        return -1
    return outcome.partition.log.log_start_offset


def _leader(outcome: Outcome, version: int) -> LeaderIdAndEpoch:
    """The leader of a partition that this broker does not lead; an id of -1 for any other outcome."""
    partition, error = outcome.partition, outcome.error
    moved = error is not None and error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not moved or partition is None or version < FIRST_VERSION_WITH_LEADERS:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)


def _new_leaders(broker: "Broker", outcomes: Sequence[Outcome], call: Call) -> tuple[NodeEndpoint, ...]:
    """Where the leaders of moved partitions listen, on the caller's listener."""
    found = {}
    for outcome in outcomes:
        node = broker.cluster.brokers.get(_leader(outcome, call.version).leader_id)
        endpoint = None if node is None else node.endpoints.get(call.peer.listener)
        if node is not None and endpoint is not None:
            found[node.node_id] = NodeEndpoint(
                node_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack
            )
    return tuple(found.values())
