"""Produce, versions 0-11 (KIP-32, 82, 98, 107, 110, 467, 482, 890, 951).

Each partition of a request stands or falls alone: checked, appended, answered. With acks -1 the answer waits until the
in-sync replicas have what was written, with acks 1 it does not, and with acks 0 there is none: an error then closes the
connection, so that the client asks for metadata again.

Order of errors for a partition (Kafka 3.9 `KafkaApis`, `ReplicaManager`, `Partition`): known, fit for the version, acks
in -1 to 1, not internal, led here, enough replicas; then, for the first of a transaction, whether the partition is part
of it (KIP-890), then the records (`storage/validation/record_sets.py`), then the log. The records are prepared before
the transaction is checked; where both fail, `_error_to_answer` answers the error that comes first here.

Version notes: v0 answers no throttle time, v2 log append time, v5 log start, v8 record errors and messages, v10 the new
leader, v11 TRANSACTION_ABORTABLE where it was INVALID_TXN_STATE. v0-v2 may carry any magic; from v3 on one batch of
magic 2, from v7 on zstd.

Unlike Kafka: a message goes with every error, not only with record errors; a frame that
cannot be read fails its partition, not all of them; what fails unexpectedly fails its partition; and records that are
null are refused (INVALID_RECORD), where Kafka 3.9.1 fails and answers nothing.
"""

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...network.answerer import CloseConnection
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ...protocol.plural import plural
from ...protocol.records.layout import (
    LOG_OVERHEAD,
    LOW_ATTRIBUTES_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_BIT,
)
from ...protocol.records.v2_header import read_header
from ...storage.log.log import AppendInfo
from ...storage.validation.record_sets import MAGIC_2_VERSION, check_version
from ..dispatch.acted_release import check_magic
from ..dispatch.call import Call
from ..metadata.image import Topic, unknown_partition
from ..metadata.partition import Partition
from ..produce.append import AppendJob, Check, RequestAppend
from ..produce.response import PartitionOutcome, note_failure, response_of, time_out_partitions, try_to_settle_all
from ..transactions.verification import verify_produce

if TYPE_CHECKING:
    from ..services import Services

ACKS_NONE = 0
ACKS_ALL = -1
ACKS = (ACKS_ALL, ACKS_NONE, 1)
ADMIN_CLIENT_ID = "__admin_client"
FIRST_VERSION_WITH_ABORTABLE = 11
MOST_PARTITIONS_IN_ONE_STEP = 16
"""Requests of no more partitions are appended in one step of the event loop."""
MOST_JOBS_AT_ONCE = 16


ResponseOrNone = ProduceResponse | None
"""None with acks 0, which has no response."""
Items = dict[tuple[str, int], memoryview]
"""The records of a request, by topic and partition."""
Jobs = list[tuple[PartitionOutcome, AppendJob]]
"""Appends that a worker has to prepare before the partition's outcome is known."""


def handle(
    services: "Services", request: ProduceRequest, call: Call
) -> ResponseOrNone | Coroutine[Any, Any, ResponseOrNone]:
    """Returns the response, or a coroutine of it if it needs a worker or other replicas or has many partitions."""
    items = _list_partitions(request)
    _check_transactional_ids(request, items)
    if items:
        call.peer.seen.count_produced_format(next(iter(items.values())))
    append = RequestAppend(services)
    if len(items) > MOST_PARTITIONS_IN_ONE_STEP:
        call.has_many_items = True
        return _handle_in_turns(services, request, call, items, append)
    jobs: Jobs = []
    outcomes = [_produce(services, request, key, records, call, append, jobs) for key, records in items.items()]
    if jobs:
        return _finish_jobs_and_answer(services, request, call, outcomes, jobs, append)
    return _answer(services, request, call, outcomes, append)


async def _handle_in_turns(
    services: "Services", request: ProduceRequest, call: Call, items: Items, append: RequestAppend
) -> ResponseOrNone:
    outcomes: list[PartitionOutcome] = []
    jobs: Jobs = []
    turn = services.turns.begin()
    for key, records in items.items():
        outcomes.append(_produce(services, request, key, records, call, append, jobs))
        await turn.next()
    return await _finish_jobs_and_answer(services, request, call, outcomes, jobs, append)


async def _finish_jobs_and_answer(
    services: "Services",
    request: ProduceRequest,
    call: Call,
    outcomes: Sequence[PartitionOutcome],
    jobs: Jobs,
    append: RequestAppend,
) -> ResponseOrNone:
    """Answers after workers have done the jobs."""
    for start in range(0, len(jobs), MOST_JOBS_AT_ONCE):
        await _produce_by_worker(services, jobs[start : start + MOST_JOBS_AT_ONCE], call, append)
    answer = _answer(services, request, call, outcomes, append)
    return await answer if isinstance(answer, Coroutine) else answer


def _answer(
    services: "Services",
    request: ProduceRequest,
    call: Call,
    outcomes: Sequence[PartitionOutcome],
    append: RequestAppend,
) -> ResponseOrNone | Coroutine[Any, Any, ResponseOrNone]:
    meter = services.metrics.produce_meter
    meter.seconds.observe(append.seconds)
    meter.temporary_bytes.observe(append.temporary_bytes)
    if request.acks == ACKS_ALL:
        waiting = [outcome for outcome in outcomes if outcome.info is not None and outcome.info.last_offset >= 0]
        if not try_to_settle_all(services, waiting):
            return _answer_after_replication(services, request, call, outcomes, waiting)
    if request.acks == ACKS_NONE:
        _close_on_failure(outcomes)
        return None
    if call.has_many_items:
        return services.run_in_worker(response_of, services, outcomes, call)
    return response_of(services, outcomes, call)


async def _answer_after_replication(
    services: "Services",
    request: ProduceRequest,
    call: Call,
    outcomes: Sequence[PartitionOutcome],
    waiting: Sequence[PartitionOutcome],
) -> ResponseOrNone:
    keys = [outcome.partition.key for outcome in waiting if outcome.partition is not None]
    await services.produce_purgatory.wait(
        keys, lambda _: try_to_settle_all(services, waiting), max(0, request.timeout_ms)
    )
    time_out_partitions(waiting)
    if call.has_many_items:
        return await services.run_in_worker(response_of, services, outcomes, call)
    return response_of(services, outcomes, call)


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


def _list_partitions(request: ProduceRequest) -> Items:
    """Partitions with their records; of one that is named twice the last counts, as in Kafka."""
    items: Items = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if not isinstance(records, memoryview):
                records = memoryview(records or b"")
            items[topic.name, data.index] = records
    return items


def _check_transactional_ids(request: ProduceRequest, items: Items) -> None:
    """Raises: ApiError 53, 49 for the whole request."""
    producers = set()
    for records in items.values():
        if len(records) >= RECORD_BATCH_OVERHEAD and records[LOW_ATTRIBUTES_OFFSET] & TRANSACTIONAL_BIT:
            producers.add(_transactional_producer(records))
    producers.discard(None)
    if producers and request.transactional_id is None:
        raise ApiError(
            "transactional records without a transactional id", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        )
    if len(producers) > 1:
        raise ApiError(
            f"transactional records of {len(producers)} producers in one request", ErrorCode.INVALID_PRODUCER_ID_MAPPING
        )


def _transactional_producer(records: memoryview) -> tuple[int, int] | None:
    """Id and epoch of the sender of the transactional batch that the records begin with, if it is whole."""
    if len(records) < RECORD_BATCH_OVERHEAD:
        return None
    header = read_header(records)
    if header.size > len(records) - LOG_OVERHEAD or header.magic != MAGIC_V2:
        return None
    return (header.producer_id, header.producer_epoch) if header.attributes & TRANSACTIONAL_BIT else None


def _produce(
    services: "Services",
    request: ProduceRequest,
    key: tuple[str, int],
    records: memoryview,
    call: Call,
    append: RequestAppend,
    jobs: Jobs,
) -> PartitionOutcome:
    """The outcome of a partition's records, complete once the jobs added to `jobs` are done."""
    outcome = PartitionOutcome(*key)
    check = None
    try:
        topic, partition = _admit(services, request, records, call, outcome)
        if request.transactional_id is not None:
            check = partial(_verify_transaction, services, outcome, request.transactional_id, records, call.version)
        outcome.info = append.try_append_inline(topic, partition, records, check)
        if outcome.info is None:
            jobs.append((outcome, AppendJob(topic, partition, records, check)))
        else:
            outcome.count_append(len(records))
    except Exception as error:  # the partitions before this one are written: the request as a whole cannot fail
        note_failure(services, outcome, _error_to_answer(error, check), call.client_id)
    return outcome


async def _produce_by_worker(
    services: "Services", jobs: Sequence[tuple[PartitionOutcome, AppendJob]], call: Call, append: RequestAppend
) -> None:
    try:
        results: Sequence[AppendInfo | Exception] = await append.prepare_in_worker_and_append([job for _, job in jobs])
    except Exception as error:  # as in `_produce`
        results = [error] * len(jobs)
    for (outcome, job), result in zip(jobs, results, strict=True):
        if isinstance(result, Exception):
            note_failure(services, outcome, _error_to_answer(result, job.check), call.client_id)
        else:
            outcome.info = result
            outcome.count_append(len(job.records))


def _admit(
    services: "Services", request: ProduceRequest, records: memoryview, call: Call, outcome: PartitionOutcome
) -> tuple[Topic, Partition]:
    """Returns where the records go, after all checks that come before those of the records. Raises: ApiError."""
    name = outcome.topic
    topic = services.cluster.topics.get(name)
    partition = None if topic is None else topic.partitions.get(outcome.index)
    if topic is None or partition is None:
        raise unknown_partition(name, outcome.index)
    check_version(records, call.version)
    if call.version < MAGIC_2_VERSION:
        check_magic(services.settings.stepdown_act_as, records)
    if request.acks not in ACKS:
        raise ApiError(f"acks is -1, 0 or 1, found {request.acks}", ErrorCode.INVALID_REQUIRED_ACKS)
    outcome.meter = meter = services.metrics.topic_meters[name]
    meter.requests.value += 1
    if topic.is_internal and call.client_id != ADMIN_CLIENT_ID:
        raise ApiError(f"{name} is an internal topic", ErrorCode.INVALID_TOPIC_EXCEPTION)
    outcome.partition = partition
    outcome.min_in_sync = min(topic.settings.min_insync_replicas, len(partition.replicas))
    if partition.leader_id != services.cluster.node_id or partition.log.is_offline:
        services.cluster.check_led_here(partition)
    if request.acks == ACKS_ALL and len(partition.isr) < outcome.min_in_sync:
        raise ApiError(
            f"{outcome.place} has {plural(len(partition.isr), 'replica')} in sync,"
            f" min.insync.replicas asks for {outcome.min_in_sync}",
            ErrorCode.NOT_ENOUGH_REPLICAS,
        )
    return topic, partition


def _error_to_answer(error: Exception, check: Check | None) -> Exception:
    """Returns the error to answer: as in Kafka, one of the producer comes before one of its records."""
    if check is not None and isinstance(error, ApiError):
        try:
            check()
        except ApiError as of_producer:
            return of_producer
    return error


def _verify_transaction(
    services: "Services", outcome: PartitionOutcome, transactional_id: str, records: memoryview, version: int
) -> None:
    """Raises: ApiError when a transaction's records come to a partition that is not part of it."""
    producer = _transactional_producer(records)
    if producer is None:
        return
    assert outcome.partition is not None
    outcome.reached_log = False
    verify_produce(
        services.settings, lambda: services.transactions_for(transactional_id), outcome.partition,
        transactional_id, *producer,
        knows_abortable=version >= FIRST_VERSION_WITH_ABORTABLE,
    )  # fmt: skip
    outcome.reached_log = True


def _close_on_failure(outcomes: Sequence[PartitionOutcome]) -> None:
    """Raises: CloseConnection when a partition failed: with acks 0 that is the only sign there can be."""
    failed = [f"{o.topic}-{o.index} {o.error.code.name}" for o in outcomes if o.error is not None]
    if failed:
        raise CloseConnection(f"a produce request with acks 0 failed: {', '.join(failed)}")
