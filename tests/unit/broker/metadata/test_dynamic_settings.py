"""A changed setting acts on the next fetch, append or look at retention, whichever level it was changed on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec, TimestampType
from support.client import RawClient
from support.clock import ManualClock
from support.fetching import connect, create, fetch, fetched, parked, produce, records
from support.record_sets import NOW
from support.running import running_broker

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
LEVELS = [
    pytest.param(TOPIC, "t", "{}", id="topic"),
    pytest.param(BROKER, "1", "log.{}", id="broker"),
    pytest.param(BROKER, "", "log.{}", id="cluster"),
]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def broker(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=clock, log_retention_ms=-1) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await connect(broker) as connected:
        await create(connected, "t")
        yield connected


async def alter(client: RawClient, kind: int, name: str, key: str, value: str | None) -> None:
    """Sets a key, or takes it back when there is no value."""
    change = AlterableConfig(name=key, config_operation=SET if value is not None else DELETE, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=(change,))
    response = await client.send(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    assert response.responses[0].error_code == 0, response


async def append(client: RawClient, batch: bytes) -> int:
    """The error code of a produce request."""
    topic = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=batch),))
    response = await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,)), 7)
    code: int = response.responses[0].partition_responses[0].error_code
    return code


@pytest.mark.parametrize(("kind", "name", "key"), LEVELS)
async def test_down_conversion_is_switched_off_and_on_again(client: RawClient, kind: int, name: str, key: str) -> None:
    await produce(client, "t", build_batch(records(1)))
    key = key.format("message.downconversion.enable")
    assert (await fetched(client, fetch("t"), 3)).error_code == 0
    await alter(client, kind, name, key, "false")
    assert (await fetched(client, fetch("t"), 3)).error_code == ErrorCode.UNSUPPORTED_VERSION
    await alter(client, kind, name, key, None)
    assert (await fetched(client, fetch("t"), 3)).error_code == 0


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [(TOPIC, "t", "max.message.bytes"), (BROKER, "1", "message.max.bytes"), (BROKER, "", "message.max.bytes")],
    ids=["topic", "broker", "cluster"],
)
async def test_the_largest_batch_follows_its_setting(client: RawClient, kind: int, name: str, key: str) -> None:
    batch = build_batch(records(1, 500))
    assert await append(client, batch) == 0
    await alter(client, kind, name, key, str(len(batch) - 1))
    assert await append(client, batch) == ErrorCode.MESSAGE_TOO_LARGE
    await alter(client, kind, name, key, str(len(batch)))
    assert await append(client, batch) == 0


async def test_a_topics_own_value_hides_what_changes_on_the_broker(client: RawClient) -> None:
    await alter(client, TOPIC, "t", "message.downconversion.enable", "true")
    await alter(client, BROKER, "", "log.message.downconversion.enable", "false")
    assert (await fetched(client, fetch("t"), 3)).error_code == 0


@pytest.mark.parametrize(("kind", "name", "key"), LEVELS)
async def test_retention_takes_what_the_new_limit_no_longer_keeps(
    broker: Broker, client: RawClient, clock: ManualClock, kind: int, name: str, key: str
) -> None:
    await append(client, build_batch(records(3)))
    log = broker.cluster.partition("t", 0).log
    await clock.advance(300_000)
    assert log.log_start_offset == 0
    await alter(client, kind, name, key.format("retention.ms"), "1000")
    await clock.advance(300_000)
    assert log.log_start_offset == 3
    assert (await fetched(client, fetch("t", 0), 3)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_the_codec_of_a_topic_follows_its_setting(client: RawClient) -> None:
    await alter(client, TOPIC, "t", "compression.type", "gzip")
    await append(client, build_batch(records(3)))
    (batch,) = iter_batches((await fetched(client, fetch("t"), 11)).records)
    assert batch.codec == Codec.GZIP


async def test_a_topic_set_to_zstd_is_refused_to_old_clients_whatever_it_holds(client: RawClient) -> None:
    await append(client, build_batch(records(3)))
    await alter(client, TOPIC, "t", "compression.type", "zstd")
    assert (await fetched(client, fetch("t"), 9)).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert (await fetched(client, fetch("t"), 10)).error_code == 0


async def test_timestamps_follow_their_type(broker: Broker, client: RawClient) -> None:
    await alter(client, BROKER, "", "log.message.timestamp.type", "LogAppendTime")
    await append(client, build_batch(records(3)))
    (batch,) = iter_batches((await fetched(client, fetch("t"), 11)).records)
    assert (batch.timestamp_type, batch.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)


async def test_a_smaller_segment_rolls_at_the_next_append(broker: Broker, client: RawClient) -> None:
    batch = build_batch(records(3))
    await append(client, batch)
    await alter(client, TOPIC, "t", "segment.bytes", str(len(batch)))
    await append(client, batch)
    assert len(broker.cluster.partition("t", 0).log.segments) == 2


async def test_what_is_compacted_refuses_records_without_keys_from_now_on(client: RawClient) -> None:
    (record,) = records(1)
    keyless = build_batch([type(record)(offset=0, timestamp=1, value=b"v")])
    assert await append(client, keyless) == 0
    await alter(client, TOPIC, "t", "cleanup.policy", "compact")
    assert await append(client, keyless) == ErrorCode.INVALID_RECORD


async def test_a_waiting_old_fetch_is_refused_once_conversion_is_switched_off(
    broker: Broker, client: RawClient
) -> None:
    async with await connect(broker) as admin:
        correlation_id = await client.begin(fetch("t", max_wait_ms=60_000, min_bytes=1), 3)
        await parked(broker)
        await alter(admin, TOPIC, "t", "message.downconversion.enable", "false")
        await produce(admin, "t", build_batch(records(1)))
        response = await client.finish(fetch("t"), 3, correlation_id)
        assert response.responses[0].partitions[0].error_code == ErrorCode.UNSUPPORTED_VERSION
