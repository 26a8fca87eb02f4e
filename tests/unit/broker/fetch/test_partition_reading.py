"""Which bytes a fetch gets, of which epochs, up to where, and how long it waits for them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.absent_partition import AbsentPartition
from stepdown.network import turn
from stepdown.protocol.errors import DiskFault, ErrorCode
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.storage.log.log import Log
from stepdown.storage.metadata.partition_record import PartitionRecord
from support.client import RawClient
from support.clock import ManualClock, settle
from support.fetching import connect, create, fetch, fetched, parked, produce, read, records
from support.record_sets import NOW
from support.replicas import replicated_up_to
from support.running import running_broker


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def broker(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=clock) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await connect(broker) as connected:
        yield connected


def of_partition(version: int, topic_id: UUID, *, limit: int = 1 << 20, **partition: Any) -> FetchRequest:
    """A fetch of partition 0 of "t", by name or by id as the version has it."""
    by = {"topic_id": topic_id} if version >= 13 else {"topic": "t"}
    wanted = FetchPartition(partition=0, partition_max_bytes=limit, **partition)
    return FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=(FetchTopic(partitions=(wanted,), **by),))


def offsets(records_: Any) -> list[int]:
    return [row[0] for row in read(records_)]


def sized(answers: Any) -> list[int]:
    """Bytes of records, partition by partition."""
    return [len(partition.records) for topic in answers.responses for partition in topic.partitions]


# Leader epochs and divergence


@pytest.mark.parametrize("version", [9, 12, 16])
@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, 0), (4, 0), (3, ErrorCode.FENCED_LEADER_EPOCH), (5, ErrorCode.UNKNOWN_LEADER_EPOCH)],
    ids=["none", "ours", "older", "newer"],
)
async def test_a_client_has_to_know_the_leaders_epoch(
    broker: Broker, client: RawClient, version: int, epoch: int, code: int
) -> None:
    await create(client, "t")
    await produce(client, "t", build_batch(records(1)))
    topic = broker.cluster.topics["t"]
    topic.partitions[0].leader_epoch = 4
    answer = await fetched(client, of_partition(version, topic.topic_id, current_leader_epoch=epoch), version)
    assert answer.error_code == code
    assert bool(answer.records) == (code == 0)


@pytest.mark.parametrize(
    ("epoch", "offset", "diverging"),
    [
        pytest.param(0, 2, (-1, -1), id="same-history"),
        pytest.param(0, 3, (-1, -1), id="at-the-end-of-its-epoch"),
        pytest.param(0, 4, (0, 3), id="behind-the-end-of-its-epoch"),
        pytest.param(1, 3, (0, 3), id="an-epoch-that-is-not-here"),
        pytest.param(3, 5, (-1, -1), id="last-epoch"),
        pytest.param(-1, 4, (-1, -1), id="not-said"),
    ],
)
async def test_a_follower_whose_log_parts_from_ours_is_told_where(
    broker: Broker, client: RawClient, epoch: int, offset: int, diverging: tuple[int, int]
) -> None:
    await create(client, "t")
    topic = broker.cluster.topics["t"]
    for leader_epoch in (0, 3):
        topic.partitions[0].leader_epoch = leader_epoch
        await produce(client, "t", build_batch(records(3)))
    request = of_partition(12, topic.topic_id, last_fetched_epoch=epoch, fetch_offset=offset)
    answer = await fetched(client, request, 12)
    assert answer.error_code == 0
    assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == diverging
    assert bool(answer.records) == (diverging == (-1, -1))


async def test_an_epoch_above_all_of_ours_is_out_of_range(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    await produce(client, "t", build_batch(records(3)))
    answer = await fetched(client, of_partition(12, UUID(int=0), last_fetched_epoch=9, fetch_offset=1), 12)
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH])
@pytest.mark.parametrize("version", [12, 15, 16])
async def test_who_leads_now_is_said_from_v16_on(
    broker: Broker, client: RawClient, version: int, code: ErrorCode
) -> None:
    await create(client, "t")
    topic, partition = broker.cluster.topics["t"], broker.cluster.partition("t", 0)
    partition.leader_epoch = 4
    if code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
        broker.cluster.node_id, ours = 2, broker.cluster.node_id
        broker.cluster.brokers[ours] = next(iter(broker.cluster.brokers.values()))
        record = PartitionRecord(replicas=(ours,), isr=(ours,), leader=ours, leader_epoch=4)
        topic.partitions[0] = AbsentPartition("t", 0, record)
    request = of_partition(version, topic.topic_id, current_leader_epoch=3)
    response = await client.send(request, version)
    answer = response.responses[0].partitions[0]
    assert answer.error_code == code
    if version < 16:
        assert (answer.current_leader.leader_id, response.node_endpoints) == (-1, ())
    else:
        assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (partition.leader_id, 4)
        (node,) = response.node_endpoints
        assert (node.node_id, node.host, node.port) == (partition.leader_id, broker.address.host, broker.address.port)


@pytest.mark.parametrize("version", [13, 17])
async def test_an_id_of_no_topic_is_unknown(client: RawClient, version: int) -> None:
    answer = await fetched(client, of_partition(version, UUID(int=5)), version)
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("version", "code"),
    [(v, ErrorCode.NOT_LEADER_OR_FOLLOWER if v <= 5 else ErrorCode.KAFKA_STORAGE_ERROR) for v in (0, 3, 4, 5, 6, 11)],
)
async def test_a_failing_disk_looks_like_a_moved_leader_to_clients_that_do_not_know_it(
    client: RawClient, monkeypatch: pytest.MonkeyPatch, version: int, code: ErrorCode
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise DiskFault("Input/output error")

    await create(client, "t")
    monkeypatch.setattr(Log, "read", broken)
    answer = await fetched(client, fetch("t"), version)
    assert (answer.error_code, bytes(answer.records or b"")) == (code, b"")


# How far one may see


@pytest.mark.parametrize(
    ("by", "seen"),
    [
        pytest.param({"replica_id": -1}, [0, 1], id="consumer"),
        pytest.param({"replica_id": -2}, [0, 1], id="debugging-consumer"),
        pytest.param({"replica_id": 9}, [0, 1, 2, 3], id="follower"),
        pytest.param({"replica_id": -3}, [0, 1, 2, 3], id="future-replica"),
    ],
)
async def test_consumers_see_what_is_replicated_and_followers_all(
    broker: Broker, client: RawClient, by: dict[str, Any], seen: list[int]
) -> None:
    await create(client, "t")
    for _ in range(2):
        await produce(client, "t", build_batch(records(2)))
    replicated_up_to(broker.cluster.partition("t", 0), 2)
    answer = await fetched(client, fetch("t", **by), 11)
    assert (offsets(answer.records), answer.high_watermark) == (seen, 2)


async def test_a_follower_is_known_by_its_state_from_v15_on(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    await produce(client, "t", build_batch(records(2)))
    replicated_up_to(broker.cluster.partition("t", 0), 0)
    topic_id = broker.cluster.topics["t"].topic_id
    wanted = FetchTopic(topic_id=topic_id, partitions=(FetchPartition(partition=0, partition_max_bytes=1 << 20),))
    answer = await fetched(client, FetchRequest(replica_state=ReplicaState(replica_id=9), topics=(wanted,)), 15)
    assert offsets(answer.records) == [0, 1]


@pytest.mark.parametrize("version", [0, 3, 4])
async def test_an_offset_that_is_not_visible_yet_is_no_error(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "t")
    await produce(client, "t", build_batch(records(4)))
    replicated_up_to(broker.cluster.partition("t", 0), 0)
    answer = await fetched(client, fetch("t", 3), version)
    assert (answer.error_code, bytes(answer.records)) == (0, b"")


async def test_who_reads_committed_data_sees_up_to_the_open_transaction(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    log = broker.cluster.partition("t", 0).log
    await produce(client, "t", build_batch(records(2)))
    log.append_as_follower(
        build_batch(records(2, offset=2), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    )
    committed = await fetched(client, fetch("t", isolation_level=1), 11)
    assert (offsets(committed.records), committed.last_stable_offset, committed.high_watermark) == ([0, 1], 2, 4)
    assert committed.aborted_transactions == ()
    everything = await fetched(client, fetch("t"), 11)
    assert offsets(everything.records) == [0, 1, 2, 3]
    assert everything.aborted_transactions is None
    log.append_as_follower(abort(4, producer_id=7))
    aborted = await fetched(client, fetch("t", isolation_level=1), 11)
    assert aborted.last_stable_offset == 5
    assert [(one.producer_id, one.first_offset) for one in aborted.aborted_transactions] == [(7, 2)]


def abort(offset: int, *, producer_id: int) -> bytes:
    return build_control_marker(
        ControlType.ABORT,
        offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp=1,
        partition_leader_epoch=0,
    )


# Limits


@pytest.mark.parametrize("version", [0, 2])
async def test_old_limits_are_hard_and_may_cut_a_batch(client: RawClient, version: int) -> None:
    await create(client, "t")
    for _ in range(3):
        await produce(client, "t", build_batch(records(10, 200)))
    whole = len((await fetched(client, fetch("t", max_bytes=1 << 20), 4)).records)
    answer = await fetched(client, fetch("t", max_bytes=whole // 3 + 400), version)
    assert len(answer.records) == whole // 3 + 400


@pytest.mark.parametrize("version", [3, 4])
async def test_one_batch_is_owed_by_the_first_partition_that_has_any(client: RawClient, version: int) -> None:
    await create(client, "t", 4)
    for index in (1, 2):
        await produce(client, "t", build_batch(records(1, 5000)), index)
    request = fetch("t", partitions=[7, 0, 1, 2], max_bytes=100)
    nothing, first, second, unknown = sized(await client.send(request, version))
    assert first >= 5000
    assert (nothing, second, unknown) == (0, 0, 0)


@pytest.mark.parametrize("version", [2, 3, 11])
async def test_no_response_is_larger_than_the_broker_allows(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path, fetch_max_bytes=20_000) as broker, await connect(broker) as client:
        await create(client, "t", 3)
        for index in range(3):
            for _ in range(3):
                await produce(client, "t", build_batch(records(1, 4000)), index)
        sizes = sized(await client.send(fetch("t", partitions=range(3)), version))
        assert sum(sizes) == pytest.approx(20_000, abs=4200)
        assert sizes[0] > sizes[1] > sizes[2]


async def test_a_fetch_ends_with_its_segment(client: RawClient) -> None:
    await create(client, "t", segment_bytes="6000")
    for _ in range(4):
        await produce(client, "t", build_batch(records(1, 2500)))
    assert offsets((await fetched(client, fetch("t"), 4)).records) == [0, 1]
    assert offsets((await fetched(client, fetch("t", 2), 4)).records) == [2, 3]


@pytest.mark.lengthy
async def test_a_fetch_of_very_many_partitions_leaves_the_loop_to_others_in_between(
    client: RawClient, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[int] = []
    wait = broker.turns.wait

    async def counted() -> None:
        turns.append(1)
        await wait()

    monkeypatch.setattr(broker.turns, "wait", counted)
    answers = await client.send(fetch("nowhere", partitions=range(10_000)), 11)
    assert len(answers.responses[0].partitions) == 10_000
    assert len(turns) >= 10_000 // turn.MOST_STEPS


# Waiting


async def waiting(broker: Broker, client: RawClient, request: FetchRequest, version: int = 11) -> asyncio.Task[Any]:
    """The fetch once it is parked."""
    task = asyncio.create_task(client.send(request, version))
    await parked(broker)
    assert not task.done()
    return task


async def test_bytes_of_all_partitions_count(broker: Broker, client: RawClient) -> None:
    await create(client, "t", 2)
    async with await connect(broker) as writer:
        poll = await waiting(broker, client, fetch("t", partitions=[0, 1], max_wait_ms=60_000, min_bytes=1200))
        await produce(writer, "t", build_batch(records(1, 800)), 0)
        await settle()
        assert not poll.done()
        await produce(writer, "t", build_batch(records(1, 800)), 1)
        assert min(sized(await poll)) > 800


async def test_no_partition_counts_for_more_than_its_own_limit(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    await create(client, "t")
    async with await connect(broker) as writer:
        poll = await waiting(broker, client, fetch("t", max_bytes=1000, max_wait_ms=500, min_bytes=1200))
        await produce(writer, "t", build_batch(records(1, 5000)))
        await settle()
        assert not poll.done()
        await clock.advance(500)
        assert offsets((await poll).responses[0].partitions[0].records) == [0]


async def test_a_batch_that_does_not_fit_into_the_rest_of_the_response_counts(
    broker: Broker, client: RawClient
) -> None:
    """A fetch whose min_bytes is its max_bytes waited for its whole time: what was left never took another batch."""
    await create(client, "t", 2)
    for index in (0, 1):
        await produce(client, "t", build_batch(records(1, 6000)), index)
    wanted = fetch("t", partitions=[0, 1], max_bytes=20_000).topics
    request = FetchRequest(max_wait_ms=60_000, min_bytes=10_000, max_bytes=10_000, topics=wanted)
    first, second = sized(await client.send(request, 11))
    assert (first > 6000, second) == (True, 0)


async def test_the_rest_of_a_closed_segment_is_not_waited_on(broker: Broker, client: RawClient) -> None:
    """A fetch waited for min_bytes that its segment, no longer written to, could not give any more."""
    await create(client, "t", segment_bytes="6000")
    for _ in range(3):
        await produce(client, "t", build_batch(records(1, 2500)))
    answer = await fetched(client, fetch("t", 1, max_wait_ms=60_000, min_bytes=100_000), 11)
    assert offsets(answer.records) == [1]


async def test_an_offset_beyond_what_is_visible_is_not_waited_on(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    log = broker.cluster.partition("t", 0).log
    aborted = build_batch(records(3), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    log.append_as_follower(aborted)
    request = fetch("t", 2, max_wait_ms=60_000, min_bytes=1, isolation_level=1)
    answer = await fetched(client, request, 11)
    assert (answer.error_code, answer.last_stable_offset, bytes(answer.records)) == (0, 0, b"")


@pytest.mark.parametrize("version", [3, 11])
async def test_a_deleted_topic_ends_the_wait(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "t")
    async with await connect(broker) as admin:
        poll = await waiting(broker, client, fetch("t", max_wait_ms=60_000, min_bytes=1), version)
        await admin.send(DeleteTopicsRequest(topic_names=("t",), timeout_ms=1000), 3)
        answer = (await poll).responses[0].partitions[0]
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(fetch("t", max_wait_ms=60_000, min_bytes=0), id="no-minimum"),
        pytest.param(fetch("t", max_wait_ms=0, min_bytes=1), id="no-time"),
        pytest.param(fetch("t", max_wait_ms=-1, min_bytes=1), id="less-than-no-time"),
        pytest.param(fetch("t", 9, max_wait_ms=60_000, min_bytes=1), id="an-error"),
        pytest.param(FetchRequest(max_wait_ms=60_000, min_bytes=1), id="no-partitions"),
    ],
)
async def test_nothing_to_wait_for_is_answered_at_once(client: RawClient, request_: FetchRequest) -> None:
    await create(client, "t")
    await client.send(request_, 11)


async def test_a_divergence_is_told_at_once(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    await produce(client, "t", build_batch(records(3)))
    broker.cluster.partition("t", 0).leader_epoch = 3
    await produce(client, "t", build_batch(records(3)))
    request = of_partition(12, UUID(int=0), last_fetched_epoch=1, fetch_offset=6)
    assert (await fetched(client, request, 12)).diverging_epoch.end_offset == 3


async def test_a_waiting_fetch_reads_again_what_came_last(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    await create(client, "t", 2)
    async with await connect(broker) as writer:
        poll = await waiting(broker, client, fetch("t", partitions=[0, 1], max_wait_ms=500, min_bytes=100_000))
        await produce(writer, "t", build_batch(records(2)), 1)
        await clock.advance(500)
        (topic,) = (await poll).responses
        assert [partition.high_watermark for partition in topic.partitions] == [0, 2]
        assert offsets(topic.partitions[1].records) == [0, 1]


async def test_a_fetch_overtaken_in_its_session_is_told_so_and_keeps_the_session(
    broker: Broker, client: RawClient
) -> None:
    await create(client, "t")
    session_id = (await client.send(fetch("t", session_epoch=0), 11)).session_id
    later = FetchRequest(session_id=session_id, max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 20, session_epoch=1)
    async with await connect(broker) as again:
        slow = await waiting(broker, client, later)
        quick = FetchRequest(session_id=session_id, max_wait_ms=0, max_bytes=1 << 20, session_epoch=2)
        assert (await again.send(quick, 11)).error_code == 0
        await produce(again, "t", build_batch(records(1), codec=Codec.GZIP))
        late = await slow
        assert (late.error_code, late.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id)
        assert late.responses == ()
