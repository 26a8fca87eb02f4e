"""The outcome for each partition of a produce request, and the response with all of them.

A success may still become a failure while the response waits for other replicas; the records stay in the log.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...network.log_line_limit import repetition_text
from ...protocol.errors import ApiError, DiskFault, ErrorCode
from ...protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from ...protocol.plural import plural
from ...protocol.schema import fast_constructor
from ...storage.log.log import AppendInfo
from ...storage.validation.errors import RecordErrors
from ..metadata.partition import Partition
from ..metrics.topic_meter import TopicMeter
from .append import EXPECTED_FAILURES

if TYPE_CHECKING:
    from ..core import Core
    from ..dispatch.call import Call

FIRST_VERSION_WITH_LEADERS = 10

make_partition = fast_constructor(PartitionProduceResponse)
make_topic = fast_constructor(TopicProduceResponse)
make_response = fast_constructor(ProduceResponse)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class PartitionOutcome:
    """The outcome for one partition's records: `info` of the append, or the `error`."""

    topic: str
    index: int
    partition: Partition | None = None
    min_in_sync: int = 0
    meter: TopicMeter | None = None  # None for an unknown topic
    reached_log: bool = True  # False where the transaction coordinator refused them
    info: AppendInfo | None = None
    error: ApiError | None = None
    is_settled: bool = False  # its result is final, while other partitions may still wait

    def count_append(self, received_bytes: int) -> None:
        """Counts appended records and their bytes; none where the batch is a duplicate."""
        info, meter = self.info, self.meter
        if meter is not None and info is not None and info.last_offset >= 0:
            meter.bytes_in.value += received_bytes
            meter.messages_in.value += info.last_offset - info.first_offset + 1

    @property
    def place(self) -> str:
        return f"{self.topic}-{self.index}"


def note_failure(core: "Core", outcome: PartitionOutcome, error: Exception, client_id: str) -> ApiError:
    """Logs and counts a failure; returns the error for the response."""
    if isinstance(error, DiskFault) or not isinstance(error, ApiError):
        _log_failure(core, outcome, error, client_id)
    if not isinstance(error, ApiError):
        error = ApiError("unexpected failure, see the broker's log", ErrorCode.UNKNOWN_SERVER_ERROR)
    outcome.error = error
    if outcome.meter is not None and error.code not in EXPECTED_FAILURES:
        core.metrics.failed_produce_requests.of(outcome.topic).add()
    return error


def _log_failure(core: "Core", outcome: PartitionOutcome, error: Exception, client_id: str) -> None:
    """Logs once a minute for each partition: a producer retries many times a second."""
    left_out = core.failed_appends.try_to_log((outcome.place, type(error)))
    if left_out is not None:
        trace = None if isinstance(error, ApiError) else error
        more = repetition_text(left_out)
        log.error("appending to %s for client %r failed%s: %s", outcome.place, client_id, more, error, exc_info=trace)


def try_to_settle_all(core: "Core", waiting: Sequence[PartitionOutcome]) -> bool:
    """Settles partitions that are replicated or lost their leader; returns whether all are settled now."""
    for outcome in waiting:
        if not outcome.is_settled:
            _try_to_settle(core, outcome)
    return all(outcome.is_settled for outcome in waiting)


def time_out_partitions(waiting: Sequence[PartitionOutcome]) -> None:
    """Sets REQUEST_TIMED_OUT for partitions that are not settled; the records stay in the log."""
    for outcome in waiting:
        if not outcome.is_settled:
            place = f"{outcome.topic}-{outcome.index}"
            outcome.error = ApiError(f"{place}: written, but not replicated in time", ErrorCode.REQUEST_TIMED_OUT)


def _try_to_settle(core: "Core", outcome: PartitionOutcome) -> None:
    partition, info = outcome.partition, outcome.info
    assert partition is not None and info is not None
    if partition.leader_id != core.cluster.node_id or partition.high_watermark > info.last_offset:
        outcome.is_settled = True
        outcome.error = _final_error(core, outcome, partition)


def _final_error(core: "Core", outcome: PartitionOutcome, partition: Partition) -> ApiError | None:
    """None for a success.

    After NOT_LEADER_OR_FOLLOWER or NOT_ENOUGH_REPLICAS_AFTER_APPEND the records stay in the log.
    """
    place = f"{outcome.topic}-{outcome.index}"
    if partition.leader_id != core.cluster.node_id:
        return ApiError(f"{place} is led by broker {partition.leader_id} now", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if len(partition.isr) < outcome.min_in_sync:
        return ApiError(
            f"{place}: written, but to {plural(len(partition.isr), 'replica')} in sync only",
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        )
    return None


def response_of(core: "Core", outcomes: Sequence[PartitionOutcome], call: "Call") -> ProduceResponse:
    by_topic: dict[str, list[PartitionProduceResponse]] = {}
    responses, failed = [], []
    for outcome in outcomes:
        info, error = outcome.info, outcome.error
        if error is not None:
            failed.append(outcome)
            answer = _failure_response(outcome, error, call.version)
        else:
            assert info is not None
            answer = make_partition(
                index=outcome.index,
                error_code=ErrorCode.NONE,
                base_offset=info.first_offset,
                log_append_time_ms=info.log_append_time_ms,
                log_start_offset=info.log_start_offset,
            )
        partitions = by_topic.get(outcome.topic)
        if partitions is None:
            partitions = by_topic[outcome.topic] = []
            responses.append(make_topic(name=outcome.topic, partition_responses=partitions))
        partitions.append(answer)
    return make_response(
        responses=responses, node_endpoints=_new_leader_endpoints(core, failed, call) if failed else ()
    )


def _failure_response(outcome: PartitionOutcome, error: ApiError, version: int) -> PartitionProduceResponse:
    info = outcome.info
    errors = error.errors if isinstance(error, RecordErrors) else ()
    return PartitionProduceResponse(
        index=outcome.index,
        error_code=error.code,
        base_offset=-1 if info is None else info.first_offset,
        log_append_time_ms=-1 if info is None else info.log_append_time_ms,
        log_start_offset=_log_start_offset(outcome, error),
        record_errors=tuple(
            BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=text) for i, text in errors
        ),
        error_message=error.message,
        current_leader=_current_leader(outcome, version),
    )


def _log_start_offset(outcome: PartitionOutcome, error: ApiError) -> int:
    """-1 for records that did not reach the log's checks, and for failures that a producer handles by itself."""
    if outcome.info is not None:
        return outcome.info.log_start_offset
    if outcome.partition is None or not outcome.reached_log or error.code in EXPECTED_FAILURES:
        return -1
    return outcome.partition.log.log_start_offset


def _current_leader(outcome: PartitionOutcome, version: int) -> LeaderIdAndEpoch:
    """The leader of a partition that this broker does not lead; an id of -1 for any other outcome."""
    partition, error = outcome.partition, outcome.error
    moved = error is not None and error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not moved or partition is None or version < FIRST_VERSION_WITH_LEADERS:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)


def _new_leader_endpoints(core: "Core", outcomes: Sequence[PartitionOutcome], call: "Call") -> tuple[NodeEndpoint, ...]:
    """The endpoints of the leaders of moved partitions, at the caller's listener."""
    found = {}
    for outcome in outcomes:
        node = core.cluster.brokers.get(_current_leader(outcome, call.version).leader_id)
        endpoint = None if node is None else node.endpoints.get(call.peer.listener)
        if node is not None and endpoint is not None:
            found[node.node_id] = NodeEndpoint(
                node_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack
            )
    return tuple(found.values())
