"""Looking at transactions, and ending by hand those that no coordinator knows any more."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from stepdown.protocol.messages.describe_transactions import DescribeTransactionsRequest
from stepdown.protocol.messages.list_transactions import ListTransactionsRequest
from stepdown.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from support.client import RawClient
from support.clock import ManualClock
from support.running import running_broker
from support.transactions import NOW, SETTINGS, TransactionalClient, batches, make_topic


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=ManualClock(), **SETTINGS) as running:
        await make_topic(running, "a")
        yield running


async def begin(broker: Broker, transactional_id: str) -> TransactionalClient:
    """A producer with an open transaction in a-0 and a-1."""
    client = await RawClient.connect(broker.address.host, broker.address.port)
    producer = TransactionalClient(client, transactional_id)
    await producer.init()
    await producer.add("a", 1, 0)
    return producer


async def test_transactions_are_described_one_by_one(broker: Broker) -> None:
    producer = await begin(broker, "t")
    request = DescribeTransactionsRequest(transactional_ids=["t", "missing", ""])
    found, missing, empty = (await producer.client.send(request, 0)).transaction_states
    assert (found.transaction_state, found.producer_id, found.producer_epoch) == ("Ongoing", producer.producer_id, 0)
    assert (found.transaction_timeout_ms, found.transaction_start_time_ms) == (60_000, NOW)
    assert [(topic.topic, list(topic.partitions)) for topic in found.topics] == [("a", [0, 1])]
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_REQUEST


async def listed(producer: TransactionalClient, version: int = 1, **filters: Any) -> list[str]:
    answer = await producer.client.send(ListTransactionsRequest(**filters), version)
    assert not answer.error_code
    return sorted(f"{each.transactional_id} {each.transaction_state}" for each in answer.transaction_states)


async def test_transactions_are_listed_by_filters(broker: Broker) -> None:
    done, still = await begin(broker, "done"), await begin(broker, "still")
    await done.end(commit=True)
    await broker.transactions.await_markers()
    assert await listed(done) == ["done CompleteCommit", "still Ongoing"]
    assert await listed(done, state_filters=["Ongoing"]) == ["still Ongoing"]
    assert await listed(done, state_filters=["ongoing"]) == []
    assert await listed(done, producer_id_filters=[still.producer_id]) == ["still Ongoing"]
    assert await listed(done, duration_filter=0) == []
    broker.clock.now += 5  # type: ignore[attr-defined]
    assert await listed(done, duration_filter=4) == ["done CompleteCommit", "still Ongoing"]
    assert await listed(done, version=0) == ["done CompleteCommit", "still Ongoing"]


async def test_states_that_do_not_exist_are_told_back(broker: Broker) -> None:
    producer = await begin(broker, "t")
    answer = await producer.client.send(ListTransactionsRequest(state_filters=["Ongoing", "Lost"]), 0)
    assert list(answer.unknown_state_filters) == ["Lost"]


def markers(producer: TransactionalClient, *partitions: int, coordinator_epoch: int = 0, commit: bool = False) -> Any:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                transaction_result=commit,
                topics=[WritableTxnMarkerTopic(name="a", partition_indexes=partitions)],
                coordinator_epoch=coordinator_epoch,
            )
        ]
    )


async def codes(producer: TransactionalClient, request: Any, version: int) -> list[int]:
    (answer,) = (await producer.client.send(request, version)).markers
    return [each.error_code for each in answer.topics[0].partitions]


@pytest.mark.parametrize("version", [0, 1])
async def test_markers_written_by_hand_end_a_transaction(broker: Broker, version: int) -> None:
    producer = await begin(broker, "t")
    await producer.produce("a", 0, b"x")
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await codes(producer, markers(producer, 0, 9), version) == [0, unknown]
    partition = broker.cluster.partition("a", 0)
    assert batches(partition) == ["data 0", "ABORT 0"]
    assert partition.last_stable_offset == 2


async def test_markers_of_an_earlier_coordinator_or_producer_are_refused(broker: Broker) -> None:
    producer = await begin(broker, "t")
    await producer.produce("a", 0, b"x")
    assert await codes(producer, markers(producer, 0, coordinator_epoch=5), 1) == [0]
    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert await codes(producer, markers(producer, 0, coordinator_epoch=4), 1) == [fenced]
    producer.epoch = 3
    assert await codes(producer, markers(producer, 0, coordinator_epoch=5), 1) == [0]
    producer.epoch = 2
    assert await codes(producer, markers(producer, 0, coordinator_epoch=5), 1) == [ErrorCode.INVALID_PRODUCER_EPOCH]


async def test_nothing_is_written_for_markers_of_no_producer(broker: Broker) -> None:
    producer = await begin(broker, "t")
    good, bad = markers(producer, 0), markers(producer, 1)
    bad.markers[0] = replace(bad.markers[0], producer_id=-1)
    request = WriteTxnMarkersRequest(markers=[*good.markers, *bad.markers])
    answers = (await producer.client.send(request, 1)).markers
    assert [topic.partitions[0].error_code for each in answers for topic in each.topics] == [-1, -1]
    assert batches(broker.cluster.partition("a", 0)) == []


@pytest.mark.parametrize("version", [4, 5])
async def test_brokers_ask_for_several_transactions_at_once(broker: Broker, version: int) -> None:
    first, second = await begin(broker, "first"), await begin(broker, "second")

    def asked(producer: TransactionalClient, topic: str, *, verify: bool) -> AddPartitionsToTxnTransaction:
        return AddPartitionsToTxnTransaction(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )

    await make_topic(broker, "b")
    request = AddPartitionsToTxnRequest(
        transactions=[asked(first, "a", verify=True), asked(first, "b", verify=True), asked(second, "b", verify=False)]
    )
    answer = await first.client.send(request, version)
    found = [
        (each.transactional_id, each.topic_results[0].results_by_partition[0].partition_error_code)
        for each in answer.results_by_transaction
    ]
    assert found == [("first", 0), ("first", ErrorCode.TRANSACTION_ABORTABLE), ("second", 0)]
    assert ("b", 0) in broker.transactions.find("second").now.partitions
