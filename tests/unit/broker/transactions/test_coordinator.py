"""Transactions over a socket, request by request: epochs, fencing, markers, timeouts, and what a restart finds."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.transactions.transaction_status import TransactionStatus
from stepdown.protocol.errors import ErrorCode
from support.client import RawClient
from support.clock import ManualClock
from support.running import running_broker
from support.transactions import SETTINGS, TransactionalClient, batches, make_topic

TEN_S = 10_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def broker(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as running:
        await make_topic(running, "a")
        yield running


async def connect(broker: Broker, transactional_id: str = "t") -> TransactionalClient:
    client = await RawClient.connect(broker.address.host, broker.address.port)
    return TransactionalClient(client, transactional_id)


def state_of(broker: Broker, transactional_id: str = "t") -> TransactionStatus:
    return broker.transactions.find(transactional_id).now.state


async def test_epochs_grow_with_each_start_of_a_producer(broker: Broker) -> None:
    producer = await connect(broker)
    first = await producer.init()
    second = await producer.init()
    assert (first.producer_epoch, second.producer_epoch) == (0, 1)
    assert first.producer_id == second.producer_id


async def test_a_lost_answer_is_given_again_without_a_new_epoch(broker: Broker) -> None:
    producer = await connect(broker)
    first = await producer.init()
    former = (first.producer_id, first.producer_epoch)
    assert (await producer.init(former=former)).producer_epoch == 1
    assert (await producer.init(former=former)).producer_epoch == 1
    assert (await producer.init(former=(first.producer_id, 1))).producer_epoch == 2
    assert (await producer.init(former=former)).error_code == ErrorCode.PRODUCER_FENCED
    assert (await producer.init(former=(77, 2))).error_code == ErrorCode.PRODUCER_FENCED
    assert (await producer.init(former=(77, 2), version=3)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_a_producer_without_epochs_left_gets_a_new_id(broker: Broker) -> None:
    producer = await connect(broker)
    first = await producer.init()
    transaction = broker.transactions.find("t")
    for epoch in (32_765, 32_766):
        transaction.pending = None
        object.__setattr__(transaction.now, "producer_epoch", epoch)
        answer = await producer.init()
    assert (answer.producer_id != first.producer_id, answer.producer_epoch) == (True, 0)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
async def test_timeouts_have_bounds(broker: Broker, timeout_ms: int) -> None:
    producer = await connect(broker)
    assert (await producer.init(timeout_ms=timeout_ms)).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


async def test_an_empty_id_or_half_a_producer_is_no_request(broker: Broker) -> None:
    producer = await connect(broker, "")
    assert (await producer.init()).error_code == ErrorCode.INVALID_REQUEST
    producer = await connect(broker)
    assert (await producer.init(former=(5, -1))).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("commit", [True, False])
async def test_a_transaction_ends_with_a_marker_in_each_partition(broker: Broker, commit: bool) -> None:
    producer = await connect(broker)
    await producer.init()
    assert await producer.add("a", 0, 1) == [0, 0]
    assert await producer.produce("a", 0, b"x", b"y") == 0
    partition = broker.cluster.partition("a", 0)
    assert (partition.last_stable_offset, partition.high_watermark) == (0, 2)
    assert await producer.end(commit=commit) == 0
    await broker.transactions.await_markers()
    marker = "COMMIT 0" if commit else "ABORT 0"
    assert batches(partition) == ["data 0", marker]
    assert batches(broker.cluster.partition("a", 1)) == [marker]
    assert partition.last_stable_offset == 3
    assert state_of(broker) is (TransactionStatus.COMPLETE_COMMIT if commit else TransactionStatus.COMPLETE_ABORT)
    assert await producer.end(commit=commit) == 0
    assert await producer.end(commit=not commit) == ErrorCode.INVALID_TXN_STATE


async def test_sequences_go_on_across_transactions(broker: Broker) -> None:
    producer = await connect(broker)
    await producer.init()
    for _ in range(3):
        assert await producer.add("a", 0) == [0]
        assert await producer.produce("a", 0, b"x") == 0
        assert await producer.end(commit=True) == 0
    assert broker.cluster.partition("a", 0).high_watermark == 6


async def test_between_decision_and_markers_all_is_concurrent(broker: Broker) -> None:
    producer = await connect(broker)
    await producer.init()
    await producer.add("a", 0)
    broker.transactions.hold_markers()
    assert await producer.end(commit=True) == 0
    busy = ErrorCode.CONCURRENT_TRANSACTIONS
    assert await producer.end(commit=True) == busy
    assert await producer.end(commit=False) == ErrorCode.INVALID_TXN_STATE
    assert await producer.add("a", 1) == [busy]
    assert (await producer.init()).error_code == busy
    assert await producer.produce("a", 1, b"x") == ErrorCode.NOT_ENOUGH_REPLICAS
    broker.transactions.release_markers()
    await broker.transactions.await_markers()
    assert await producer.add("a", 1) == [0]


async def test_a_new_producer_aborts_what_the_former_left_open_and_fences_it(broker: Broker) -> None:
    """The epoch grows by two: the first one is in the abort markers only."""
    old, new = await connect(broker), await connect(broker)
    await old.init()
    await old.add("a", 0)
    await old.produce("a", 0, b"x")
    assert (await new.init()).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    await broker.transactions.await_markers()
    assert (await new.init()).producer_epoch == 2
    assert batches(broker.cluster.partition("a", 0)) == ["data 0", "ABORT 1"]
    assert await old.end(commit=True) == ErrorCode.PRODUCER_FENCED
    assert await old.end(commit=True, version=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert await old.add("a", 0) == [ErrorCode.PRODUCER_FENCED]
    assert await old.add("a", 0, version=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert await old.produce("a", 0, b"x") == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_partitions_are_added_all_or_none(broker: Broker) -> None:
    producer = await connect(broker)
    await producer.init()
    not_tried, unknown = ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await producer.add("a", 0, 7) == [not_tried, unknown]
    assert state_of(broker) is TransactionStatus.EMPTY


async def test_who_is_unknown_is_told_so(broker: Broker) -> None:
    producer = await connect(broker)
    producer.producer_id = producer.epoch = 5
    wrong = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert await producer.add("a", 0) == [wrong]
    assert await producer.end(commit=True) == wrong
    assert await producer.add_offsets("g") == wrong
    await producer.init()
    producer.producer_id += 1
    assert await producer.end(commit=True) == wrong


@pytest.mark.parametrize(("version", "code"), [(11, 120), (10, 48), (3, 48)])
async def test_records_for_a_partition_outside_the_transaction_are_refused(
    broker: Broker, version: int, code: int
) -> None:
    """KIP-890: such a batch would open a transaction that nobody ever ends."""
    producer = await connect(broker)
    await producer.init()
    await producer.add("a", 1)
    assert await producer.produce("a", 0, b"x", version=version) == code
    assert broker.cluster.partition("a", 0).log.log_end_offset == 0


async def test_verification_can_be_switched_off(tmp_path: Path) -> None:
    settings = SETTINGS | {"transaction_partition_verification_enable": "false"}
    async with running_broker(tmp_path, **settings) as broker:
        await make_topic(broker, "a")
        producer = await connect(broker)
        await producer.init()
        assert await producer.produce("a", 0, b"x") == 0


async def test_a_transaction_that_takes_too_long_is_aborted(broker: Broker, clock: ManualClock) -> None:
    producer = await connect(broker)
    await producer.init(timeout_ms=15_000)
    await producer.add("a", 0)
    await producer.produce("a", 0, b"x")
    await clock.advance(TEN_S)
    assert state_of(broker) is TransactionStatus.ONGOING
    await clock.advance(TEN_S)
    await broker.transactions.await_markers()
    assert batches(broker.cluster.partition("a", 0)) == ["data 0", "ABORT 1"]
    assert await producer.end(commit=True) == ErrorCode.PRODUCER_FENCED
    assert await producer.produce("a", 0, b"x") == ErrorCode.INVALID_PRODUCER_EPOCH


async def test_ids_that_are_not_used_are_forgotten(tmp_path: Path, clock: ManualClock) -> None:
    settings = SETTINGS | {
        "transactional_id_expiration_ms": 60_000,
        "transaction_remove_expired_transaction_cleanup_interval_ms": TEN_S,
    }
    async with running_broker(tmp_path, clock=clock, **settings) as broker:
        idle, busy = await connect(broker, "idle"), await connect(broker, "busy")
        await make_topic(broker, "a")
        await idle.init()
        await busy.init(timeout_ms=900_000)
        await busy.add("a", 0)
        await clock.advance(59_000)
        assert len(broker.transactions.transactions) == 2
        await clock.advance(TEN_S)
        assert [each.transactional_id for each in broker.transactions.transactions] == ["busy"]
        assert (await idle.init()).producer_epoch == 0
        await busy.end(commit=False)
        await clock.advance(80_000)
        assert len(broker.transactions.transactions) == 0
    async with running_broker(tmp_path, clock=clock, **settings) as broker:
        await broker.transactions.await_loading()
        assert len(broker.transactions.transactions) == 0


async def test_offsets_of_a_transaction_count_once_it_is_committed(broker: Broker) -> None:
    producer = await connect(broker)
    await producer.init()
    assert await producer.add_offsets("g") == 0
    assert await producer.commit_offsets("g", "a", 0, 5) == 0
    assert broker.groups.fetch_offset("g", "a", 0).offset == -1
    assert await producer.end(commit=True) == 0
    await broker.transactions.await_markers()
    assert broker.groups.fetch_offset("g", "a", 0, stable=True).offset == 5
    assert await producer.add_offsets("g") == 0
    assert await producer.commit_offsets("g", "a", 0, 9) == 0
    assert await producer.end(commit=False) == 0
    await broker.transactions.await_markers()
    assert broker.groups.fetch_offset("g", "a", 0, stable=True).offset == 5


@pytest.mark.parametrize(("version", "code"), [(4, 120), (3, 48)])
async def test_offsets_of_a_group_outside_the_transaction_are_refused(broker: Broker, version: int, code: int) -> None:
    producer = await connect(broker)
    await producer.init()
    await producer.add("a", 0)
    assert await producer.commit_offsets("g", "a", 0, 5, version=version) == code
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await producer.commit_offsets("g", "missing", 0, 5) == unknown


async def test_the_topic_is_deleted_during_a_transaction(broker: Broker) -> None:
    producer = await connect(broker)
    await producer.init()
    await producer.add("a", 0)
    await broker.topics.delete(["a"])
    assert await producer.end(commit=True) == 0
    await broker.transactions.await_markers()
    assert state_of(broker) is TransactionStatus.COMPLETE_COMMIT


async def test_a_partition_that_knows_a_later_epoch_does_not_hold_up_the_end(broker: Broker) -> None:
    """Kafka gives up and leaves the id unusable."""
    producer = await connect(broker)
    await producer.init()
    await producer.add("a", 0, 1)
    await producer.produce("a", 0, b"x")
    broker.cluster.partition("a", 1).log.producers.state._entry_to_change(producer.producer_id).set_epoch(9)
    assert await producer.end(commit=True) == 0
    await broker.transactions.await_markers()
    assert state_of(broker) is TransactionStatus.COMPLETE_COMMIT
    assert batches(broker.cluster.partition("a", 1)) == []


@pytest.mark.parametrize("commit", [True, False])
async def test_a_restart_writes_the_markers_that_were_decided(tmp_path: Path, clock: ManualClock, commit: bool) -> None:
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as broker:
        await make_topic(broker, "a")
        producer = await connect(broker)
        await producer.init()
        await producer.add("a", 0)
        await producer.produce("a", 0, b"x")
        await producer.add_offsets("g")
        await producer.commit_offsets("g", "a", 0, 1)
        broker.transactions.hold_markers()
        assert await producer.end(commit=commit) == 0
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as broker:
        await broker.transactions.await_loading()
        await broker.transactions.await_markers()
        assert state_of(broker) is (TransactionStatus.COMPLETE_COMMIT if commit else TransactionStatus.COMPLETE_ABORT)
        assert batches(broker.cluster.partition("a", 0)) == ["data 0", "COMMIT 0" if commit else "ABORT 0"]
        assert broker.groups.fetch_offset("g", "a", 0, stable=True).offset == (1 if commit else -1)


async def test_a_restart_leaves_open_transactions_open_until_they_time_out(tmp_path: Path, clock: ManualClock) -> None:
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as broker:
        await make_topic(broker, "a")
        producer, other = await connect(broker), await connect(broker, "other")
        for each in (producer, other):
            await each.init()
            await each.add("a", 0)
            await each.produce("a", 0, b"x")
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as broker:
        await broker.transactions.await_loading()
        again = await connect(broker)
        again.producer_id, again.epoch, again.sequences = producer.producer_id, producer.epoch, producer.sequences
        assert await again.produce("a", 0, b"y") == 0
        assert await again.end(commit=True) == 0
        await clock.advance(80_000)
        await broker.transactions.await_markers()
        assert batches(broker.cluster.partition("a", 0)) == ["data 0", "data 0", "data 0", "COMMIT 0", "ABORT 1"]


async def test_producer_ids_of_the_log_are_not_given_out_again(tmp_path: Path) -> None:
    """As when the log comes from another broker, whose counter is not there."""
    async with running_broker(tmp_path, **SETTINGS) as broker:
        broker.topics.store.skip_producer_ids_below(50_000)
        producer = await connect(broker)
        assert (await producer.init()).producer_id == 50_000
    for name in tmp_path.iterdir():  # noqa: ASYNC240
        if name.name.startswith("stepdown"):
            name.unlink()
    async with running_broker(tmp_path, **SETTINGS) as broker:
        producer = await connect(broker, "new")
        assert (await producer.init()).producer_id > 50_000
