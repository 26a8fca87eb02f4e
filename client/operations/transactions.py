"""Transactions, and how to end them by force.

The broker that is asked has to be the coordinator, or the leader of the partition: coordinators are not looked up,
since that would create the topic __transaction_state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, error_name
from ...protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from ...protocol.messages.describe_transactions import DescribeTransactionsRequest
from ...protocol.messages.init_producer_id import InitProducerIdRequest
from ...protocol.messages.list_transactions import ListTransactionsRequest
from ...protocol.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from ..errors import ClientError, UnsupportedVersion, make_printable, raise_if_error
from ..operation import Operation, TopicPartition, ask
from .every_broker import ask_every_broker
from .outcome import Outcome

ONGOING = "Ongoing"
FIRST_VERSION_WITH_DURATION = 1
NO_DURATION = -1
# The timeout of a producer that only fences another one does not matter.
FENCING_TIMEOUT_MS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing:
    """One transactional id of the list."""

    name: str
    state: str
    producer_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescription:
    """One transactional id; `error` is "" when it was found. `start_ms` is -1 without a transaction."""

    name: str
    error: str = ""
    state: str = ""
    producer_id: int = -1
    producer_epoch: int = -1
    timeout_ms: int = -1
    start_ms: int = -1
    partitions: tuple[TopicPartition, ...] = ()


def list_transactions(
    states: Sequence[str] = (), producer_ids: Sequence[int] = (), longer_than_ms: int = NO_DURATION
) -> Operation[list[TransactionListing]]:
    """The ids of all brokers that pass the filters, by name. Raises: KafkaError, ClientError for an unknown state."""

    def make_request(version: int) -> ListTransactionsRequest:
        if longer_than_ms != NO_DURATION and version < FIRST_VERSION_WITH_DURATION:
            raise UnsupportedVersion("this broker cannot filter by duration")
        return ListTransactionsRequest(
            state_filters=states, producer_id_filters=producer_ids, duration_filter=longer_than_ms
        )

    found: dict[str, TransactionListing] = {}
    for answer in (yield from ask_every_broker(ApiKey.LIST_TRANSACTIONS, make_request)).values():
        raise_if_error("transactions cannot be listed", answer)
        if answer.unknown_state_filters:
            unknown = make_printable(", ".join(answer.unknown_state_filters))
            raise ClientError(
                f"there is no state {unknown}, but Ongoing, PrepareCommit, CompleteCommit, Empty and so on"
            )
        for each in answer.transaction_states:
            found[each.transactional_id] = TransactionListing(
                name=each.transactional_id, state=each.transaction_state, producer_id=each.producer_id
            )
    return sorted(found.values(), key=lambda each: each.name)


def describe_transactions(names: Sequence[str]) -> Operation[list[TransactionDescription]]:
    """Each of the ids, in the order asked."""
    answer = yield from ask(DescribeTransactionsRequest(transactional_ids=names))
    return [
        TransactionDescription(
            name=each.transactional_id,
            error=error_name(each.error_code) if each.error_code else "",
            state=each.transaction_state,
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            timeout_ms=each.transaction_timeout_ms,
            start_ms=each.transaction_start_time_ms,
            partitions=tuple((topic.topic, index) for topic in each.topics for index in topic.partitions),
        )
        for each in answer.transaction_states
    ]


def abort_transaction(name: str) -> Operation[Outcome]:
    """Aborts the open transaction of an id and fences its producer, as the next producer of that id would."""
    (before,) = yield from describe_transactions([name])
    if before.error:
        return Outcome(name=name, error=before.error)
    if before.state != ONGOING:
        return Outcome(name=name, error="INVALID_TXN_STATE", message=f"it is {before.state}: nothing to abort")
    answer = yield from ask(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=FENCING_TIMEOUT_MS))
    (after,) = yield from describe_transactions([name])
    if after.state == ONGOING and after.start_ms == before.start_ms:
        return Outcome(name=name, error=error_name(answer.error_code), message="it is still open")
    return Outcome(name=name)


def abort_transaction_in_partition(topic_partition: TopicPartition, producer_id: int) -> Operation[Outcome]:
    """Writes an abort marker for a producer whose transaction no coordinator knows any more."""
    name = f"{topic_partition[0]}-{topic_partition[1]} producer {producer_id}"
    producer = yield from _find_producer_state(topic_partition, producer_id)
    if isinstance(producer, str):
        return Outcome(name=name, error=producer)
    if producer is None or producer.current_txn_start_offset < 0:
        return Outcome(name=name, error="INVALID_TXN_STATE", message="it has no open transaction there")
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic_partition[0], partition_indexes=[topic_partition[1]])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )
    answer = yield from ask(WriteTxnMarkersRequest(markers=[marker]))
    code = answer.markers[0].topics[0].partitions[0].error_code
    return Outcome(name=name, error=error_name(code) if code else "")


def _find_producer_state(topic_partition: TopicPartition, producer_id: int) -> Operation[ProducerState | str | None]:
    """The partition's state of the producer, None if it has none; the name of an error if the broker gives one."""
    topics = [TopicRequest(name=topic_partition[0], partition_indexes=[topic_partition[1]])]
    answer = yield from ask(DescribeProducersRequest(topics=topics))
    found = answer.topics[0].partitions[0]
    if found.error_code != ErrorCode.NONE:
        return error_name(found.error_code)
    return next((each for each in found.active_producers if each.producer_id == producer_id), None)
