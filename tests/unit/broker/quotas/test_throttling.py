"""Who takes more than a quota allows is told so at once, and not listened to for that long."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.quotas.rate import LONGEST_WAIT_MS
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.admin import create, new_topic
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import MOMENT_S
from support.record_sets import NOW
from support.running import running_broker, until
from support.scraping import metric_of

BATCH_BYTES = 30_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def broker(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "data", clock=clock, log_retention_ms=-1) as running:
        yield running


async def connected(broker: Broker, client_id: str) -> RawClient:
    return await RawClient.connect(broker.address.host, broker.address.port, client_id=client_id)


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await connected(broker, "greedy") as one:
        yield one


async def set_quota(
    client: RawClient, key: str, value: float | None, *, kind: str = "client-id", name: str | None
) -> None:
    entry = EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name)],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None)],
    )
    answer = await client.send(AlterClientQuotasRequest(entries=[entry]), 1)
    assert answer.entries[0].error_code == 0, answer.entries[0].error_message


def produced() -> ProduceRequest:
    records = build_batch([Record(offset=0, timestamp=NOW, value=bytes(BATCH_BYTES))])
    data = [PartitionProduceData(index=0, records=records)]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])


def fetched() -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[partition])])


async def is_silent(client: RawClient) -> bool:
    """Whether a request waits; it goes on waiting as `client.waiting`."""
    correlation_id = await client.begin(ApiVersionsRequest(), 0)
    waiting = asyncio.ensure_future(client.finish(ApiVersionsRequest(), 0, correlation_id))
    done, _ = await asyncio.wait({waiting}, timeout=MOMENT_S)
    client.waiting = waiting  # type: ignore[attr-defined]
    return not done


async def test_a_producer_is_told_at_once_and_then_not_listened_to(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    await create(client, "t")
    await set_quota(client, "producer_byte_rate", 2000.0, name="greedy")
    throttle_ms = (await client.send(produced(), 9)).throttle_time_ms
    assert throttle_ms > 4000
    await until(lambda: broker.metrics.throttle_seconds.of("Produce").value == throttle_ms / 1000)
    assert broker.metrics.quota_throttle_seconds.of("Produce", "", "greedy").value == throttle_ms / 1000
    assert broker.metrics.quota_bytes.of("Produce", "", "greedy").value > BATCH_BYTES
    assert await is_silent(client)
    async with await connected(broker, "modest") as other:
        assert (await other.send(produced(), 9)).throttle_time_ms == 0
    await clock.advance(10_000)
    assert await client.waiting  # type: ignore[attr-defined]


async def test_a_quota_that_goes_while_its_client_waits_does_not_shorten_the_wait(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    """As in Kafka; and it does not hang either."""
    await create(client, "t")
    await set_quota(client, "producer_byte_rate", 2000.0, name="greedy")
    throttle_ms = (await client.send(produced(), 9)).throttle_time_ms
    async with await connected(broker, "admin") as admin:
        await set_quota(admin, "producer_byte_rate", None, name="greedy")
    assert await is_silent(client)
    await clock.advance(throttle_ms)
    assert await client.waiting  # type: ignore[attr-defined]
    assert (await client.send(produced(), 9)).throttle_time_ms == 0


async def test_names_that_clients_choose_are_a_thousand_metrics_at_most(broker: Broker) -> None:
    usage = broker.quotas.usage
    for number in range(1_100):
        usage.count_bytes("Produce", ("", f"{number}-{'x' * 10_000}"), 1)
    labels = [sample.labels for sample in metric_of(broker.metrics.quota_bytes).samples]
    assert len(labels) == 1_001
    assert max(len(each["client_id"]) for each in labels) == 200
    assert broker.metrics.quota_bytes.of("Produce", "", "one more").value == 100


async def test_a_fetch_that_takes_too_much_gets_nothing_until_it_has_waited(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    await create(client, "t")
    for _ in range(4):
        await client.send(produced(), 9)
    await set_quota(client, "consumer_byte_rate", 4000.0, name="greedy")

    async def size() -> tuple[int, int]:
        answer = await client.send(fetched(), 6)
        return answer.throttle_time_ms, sum(
            len(part.records) for topic in answer.responses for part in topic.partitions
        )

    throttle_ms, first = await size()
    assert (throttle_ms, 30_000 < first <= 40_000) == (0, True)  # no more than ten windows of the quota
    assert broker.metrics.quota_bytes.of("Fetch", "", "greedy").value == first
    throttle_ms, second = await size()
    assert throttle_ms > 5000
    assert broker.metrics.quota_bytes.of("Fetch", "", "greedy").value == first
    assert broker.metrics.quota_throttle_seconds.of("Fetch", "", "greedy").value == throttle_ms / 1000
    assert second == 0
    await clock.advance(throttle_ms)
    await clock.advance(4000)
    assert await size() == (0, first)


async def test_changes_to_partitions_are_refused_or_in_old_versions_made_to_wait(client: RawClient) -> None:
    await set_quota(client, "controller_mutation_rate", 1.0, name="greedy")

    async def made(name: str, version: int, partitions: int) -> tuple[int, bool]:
        request = CreateTopicsRequest(topics=[new_topic(name, partitions)])
        answer = await client.send(request, version)
        return answer.topics[0].error_code, answer.throttle_time_ms > 0

    assert await made("a", 7, 15) == (0, False)  # eleven could be had at once, but who has any left is served
    async with client:
        assert await made("b", 7, 1) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, True)


async def test_old_clients_get_their_partitions_and_wait(client: RawClient) -> None:
    await set_quota(client, "controller_mutation_rate", 1.0, name="greedy")
    answer = await client.send(CreateTopicsRequest(topics=[new_topic("a", 15)]), 5)
    assert answer.topics[0].error_code == 0
    assert answer.throttle_time_ms > 3000


async def test_who_keeps_the_broker_busy_waits_a_window_at_most(client: RawClient) -> None:
    await set_quota(client, "request_percentage", 0.000001, kind="user", name="ANONYMOUS")
    assert 0 < (await client.send(ApiVersionsRequest(), 2)).throttle_time_ms <= 1000


async def test_the_quota_of_a_user_is_shared_by_connections(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    await set_quota(client, "producer_byte_rate", 4000.0, kind="user", name=None)
    assert (await client.send(produced(), 9)).throttle_time_ms == 0
    async with await connected(broker, "another") as other:
        assert (await other.send(produced(), 9)).throttle_time_ms > 0


async def test_a_quota_that_is_removed_counts_no_more(client: RawClient) -> None:
    await create(client, "t")
    await set_quota(client, "producer_byte_rate", 1.0, name=None)
    await set_quota(client, "producer_byte_rate", None, name=None)
    assert (await client.send(produced(), 9)).throttle_time_ms == 0


async def test_a_throttled_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with running_broker(tmp_path / "data", clock=ManualClock(NOW)) as broker:
        client = await connected(broker, "greedy")
        await create(client, "t")
        await set_quota(client, "producer_byte_rate", 1.0, name="greedy")
        assert (await client.send(produced(), 9)).throttle_time_ms > 0
    assert await client.read_frame() is None
    await client.close()


async def test_connections_from_one_address_come_at_its_rate(
    broker: Broker, client: RawClient, clock: ManualClock
) -> None:
    await set_quota(client, "connection_creation_rate", 1.0, kind="ip", name="127.0.0.1")
    others = []
    for _ in range(10):
        others.append(await connected(broker, "a"))
        assert (await others[-1].send(ApiVersionsRequest(), 0)).error_code == 0
    refused = await connected(broker, "b")
    await refused.begin(ApiVersionsRequest(), 0)
    assert (await others[0].send(ApiVersionsRequest(), 0)).error_code == 0
    await clock.advance(1000)
    assert await refused.read_frame() is None
    for other in (*others, refused):
        await other.close()


async def test_all_connections_together_come_at_the_rate_of_the_broker(tmp_path: Path, clock: ManualClock) -> None:
    async with running_broker(tmp_path / "data", clock=clock, max_connection_creation_rate=1) as broker:
        others = []
        for _ in range(11):  # the last one is above the rate: no other is taken for a while
            others.append(await connected(broker, "a"))
            assert (await others[-1].send(ApiVersionsRequest(), 0)).error_code == 0
        late = await connected(broker, "late")
        correlation_id = await late.begin(ApiVersionsRequest(), 0)
        assert (await others[0].send(ApiVersionsRequest(), 0)).error_code == 0
        assert broker.connections == len(others)
        await clock.advance(1000)
        assert (await late.finish(ApiVersionsRequest(), 0, correlation_id)).error_code == 0
        for other in (*others, late):
            await other.close()


SMALLEST = [5e-324, 1e-320, 1e-9, 1.0]
LARGE_BYTES = 900_000


def produced_large() -> ProduceRequest:
    data = PartitionProduceData(
        index=0, records=build_batch([Record(offset=0, timestamp=NOW, value=bytes(LARGE_BYTES))])
    )
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])


@pytest.mark.parametrize("rate", SMALLEST, ids=str)
async def test_a_record_is_written_once_and_acknowledged_under_the_smallest_quota(
    broker: Broker, client: RawClient, rate: float
) -> None:
    """The answer could not be encoded: the record was there, the connection closed, and the producer sent it again."""
    await create(client, "t")
    await set_quota(client, "producer_byte_rate", rate, name="greedy")
    answer = await client.send(produced_large(), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert answer.throttle_time_ms == LONGEST_WAIT_MS
    assert broker.cluster.partition("t", 0).log.log_end_offset == 1


@pytest.mark.parametrize("rate", SMALLEST, ids=str)
async def test_a_batch_above_a_whole_window_is_fetched_once_and_paid_for_after_it(
    broker: Broker, client: RawClient, clock: ManualClock, rate: float
) -> None:
    """A batch that is larger than what a window allows was never answered: each fetch was told to come back."""
    await create(client, "t")
    await client.send(produced(), 9)
    await set_quota(client, "consumer_byte_rate", rate, name="greedy")
    answer = await client.send(fetched(), 6)
    assert len(answer.responses[0].partitions[0].records) > BATCH_BYTES
    assert 0 < answer.throttle_time_ms <= LONGEST_WAIT_MS
    async with await connected(broker, "greedy") as another:
        answer = await another.send(fetched(), 6)
    assert (len(answer.responses), answer.throttle_time_ms) == (0, LONGEST_WAIT_MS)


@pytest.mark.parametrize("rate", SMALLEST, ids=str)
async def test_topics_are_made_once_under_the_smallest_quota(client: RawClient, rate: float) -> None:
    await set_quota(client, "controller_mutation_rate", rate, name="greedy")
    answer = await client.send(CreateTopicsRequest(topics=[new_topic("a", 15)]), 5)
    assert (answer.topics[0].error_code, answer.throttle_time_ms > 1000) == (0, True)
    assert answer.throttle_time_ms <= LONGEST_WAIT_MS
