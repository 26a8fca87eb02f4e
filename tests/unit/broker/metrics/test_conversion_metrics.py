"""What converting counts (KIP-188, KIP-283)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metrics.metrics import Metrics
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.client import RawClient
from support.fetching import connect, create, fetch, fetched, produce, read, records
from support.running import running_broker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await connect(broker) as connected:
        yield connected


def in_wordy_batch(count: int) -> bytes:
    """Records whose stored form is far larger than their converted one: headers are dropped."""
    return build_batch([Record(offset=n, timestamp=1, key=b"k", headers=(("h", b"x" * 500),)) for n in range(count)])


def observed(metrics: Metrics, name: str) -> tuple[int, float]:
    """(observations, their sum) of a histogram of conversions for fetches."""
    histogram = getattr(metrics, name).of("Fetch")
    return sum(histogram.counts), histogram.total


@pytest.mark.parametrize("version", [0, 3])
async def test_bytes_out_are_the_bytes_promised(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "t")
    await produce(client, "t", in_wordy_batch(5))
    answer = await fetched(client, fetch("t"), version)
    assert broker.metrics.padding_bytes.value > 1000
    assert broker.metrics.bytes_out.of("t").value == len(answer.records)


@pytest.mark.parametrize("count", [20, 200], ids=["at-once", "in-a-worker"])
async def test_what_was_converted_for_its_size_is_counted(broker: Broker, client: RawClient, count: int) -> None:
    await create(client, "t")
    rows = [Record(offset=n, timestamp=1, key=None, value=Random(n).randbytes(600)) for n in range(count)]
    await produce(client, "t", build_batch(rows, codec=Codec.LZ4))
    await fetched(client, fetch("t"), 2)
    await client.send(ApiVersionsRequest(), 0)  # what was sent is counted by then
    assert broker.metrics.fetch_conversions.of("t").value == count
    assert broker.metrics.conversion_chunks.value == 1


@pytest.mark.parametrize(("chunk_bytes", "chunks"), [(1 << 17, 8), (1 << 18, 4), (1 << 30, 4)])
async def test_no_more_is_read_for_a_chunk_than_a_thread_has_a_buffer_for(
    tmp_path: Path, chunk_bytes: int, chunks: int
) -> None:
    async with running_broker(tmp_path, stepdown_downconversion_chunk_bytes=chunk_bytes) as broker:
        async with await connect(broker) as client:
            await create(client, "t")
            while broker.cluster.partition("t", 0).log.size_bytes < 1 << 20:
                await produce(client, "t", in_wordy_batch(10))
            await fetched(client, fetch("t"), 3)
        assert broker.metrics.conversion_chunks.value == pytest.approx(chunks, abs=1)


@pytest.mark.parametrize("version", [3, 4, 12])
async def test_followers_are_not_counted_in_bytes_out(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "t")
    await produce(client, "t", build_batch(records(5)))
    assert len((await fetched(client, fetch("t", replica_id=7), version)).records) > 0
    assert broker.metrics.bytes_out.of("t").value == 0
    assert broker.metrics.requests.of("FetchFollower", str(version)).value == 1
    await fetched(client, fetch("t"), version)
    assert broker.metrics.bytes_out.of("t").value > 0
    assert broker.metrics.requests.of("FetchConsumer", str(version)).value == 1


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("version", [1, 2])
async def test_converted_records_are_counted_once_their_response_is_sent(
    broker: Broker, client: RawClient, version: int, codec: Codec
) -> None:
    await create(client, "t")
    for at in range(3):
        await produce(client, "t", build_batch(records(7, first=7 * at), codec=codec))
    got = read((await fetched(client, fetch("t"), version)).records)
    assert len(got) >= 7
    await client.send(ApiVersionsRequest(), 0)  # a worker sent the records; they are counted before the next answer
    assert broker.metrics.fetch_conversions.of("t").value >= len(got)
    assert broker.metrics.fetch_conversions.of("t").value % 7 == 0
    kind = ("2", str(version // 2), codec.name.lower())
    assert broker.metrics.conversion_bytes.of(*kind).value > 0


async def test_batches_of_an_older_magic_are_copied_and_not_counted(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    log = broker.cluster.partition("t", 0).log
    log.append_as_follower(build_batch([replace(record, headers=()) for record in records(4)], magic=1))
    assert [row[0] for row in read((await fetched(client, fetch("t"), 3)).records)] == [0, 1, 2, 3]
    assert broker.metrics.fetch_conversions.of("t").value == 0
    assert len(read((await fetched(client, fetch("t"), 1)).records)) == 4
    assert broker.metrics.fetch_conversions.of("t").value == 4


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name.lower())
async def test_records_that_are_converted_up_are_told_by_magic_and_codec(
    broker: Broker, client: RawClient, magic: int, codec: Codec
) -> None:
    await create(client, "t")
    old = build_batch([replace(record, headers=()) for record in records(4)], magic=magic, codec=codec)
    await produce(client, "t", old, version=2)
    name = codec.name.lower()
    assert broker.metrics.up_conversions.of(str(magic), name, name).value == 4


async def test_time_and_memory_are_observed_once_a_request_and_over_all_partitions(
    broker: Broker, client: RawClient
) -> None:
    await create(client, "t", 3)
    sizes = []
    for index in range(3):
        await produce(client, "t", build_batch(records(20)), index)
        sizes.append(len((await fetched(client, fetch("t", partitions=[index]), 4)).records))
    assert observed(broker.metrics, "temporary_bytes") == (3, 0)
    await client.send(fetch("t", partitions=range(3)), 3)
    count, total = observed(broker.metrics, "temporary_bytes")
    assert count == 4
    assert total > 2 * sum(sizes) * 0.9
    count, seconds = observed(broker.metrics, "conversion_seconds")
    assert count == 4
    assert seconds > 0


@pytest.mark.parametrize("version", [0, 3, 4, 11])
async def test_a_fetch_that_converts_nothing_is_observed_as_nothing(
    broker: Broker, client: RawClient, version: int
) -> None:
    await create(client, "t")
    await fetched(client, fetch("t"), version)
    assert observed(broker.metrics, "conversion_seconds") == (1, 0)
    assert observed(broker.metrics, "temporary_bytes") == (1, 0)


async def test_an_empty_converted_slice_does_not_hold_the_count_back(broker: Broker, client: RawClient) -> None:
    """A partition without a whole batch is not sent, and so never said that it was done."""
    await create(client, "t", 2)
    for index in (0, 1):
        await produce(client, "t", build_batch(records(20)), index)
    response = await client.send(fetch("t", partitions=[0, 1], max_bytes=100), 3)
    assert [len(partition.records) > 0 for partition in response.responses[0].partitions] == [True, False]
    assert observed(broker.metrics, "temporary_bytes")[0] == 1


@pytest.mark.parametrize(
    ("configs", "version", "reason"),
    [
        ({"message_downconversion_enable": "false"}, 3, "disabled"),
        ({"compression_type": "zstd"}, 3, "zstd"),
        ({"compression_type": "zstd"}, 9, "zstd"),
    ],
)
async def test_refused_conversions_are_counted_by_reason_and_are_no_failures(
    broker: Broker, client: RawClient, configs: dict[str, str], version: int, reason: str
) -> None:
    await create(client, "t", **configs)
    assert (await fetched(client, fetch("t"), version)).error_code != 0
    assert broker.metrics.conversions_rejected.of(reason).value == 1
    assert broker.metrics.failed_fetch_requests.of("t").value == 0


async def test_what_clients_bring_about_is_no_failed_fetch(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    assert (await fetched(client, fetch("t", 99), 11)).error_code == 1
    assert (await fetched(client, fetch("t", partitions=[9]), 11)).error_code == 3
    assert broker.metrics.failed_fetch_requests.of("t").value == 0
    assert broker.metrics.fetch_partition_requests.of("t").value == 2


async def test_all_phases_of_a_request_are_observed(broker: Broker, client: RawClient) -> None:
    await create(client, "t")
    await fetched(client, fetch("t"), 3)
    await fetched(client, fetch("t"), 3)
    for phase in ("local", "remote", "send", "total"):
        assert sum(broker.metrics.request_duration.of("Fetch", phase, "3").counts) >= 1, phase


async def test_evicted_sessions_are_counted(tmp_path: Path) -> None:
    async with (
        running_broker(tmp_path, max_incremental_fetch_session_cache_slots=1) as broker,
        await connect(broker) as client,
    ):
        await create(client, "t")
        assert (await client.send(fetch("t", session_epoch=0), 11)).session_id > 0
        assert (await client.send(fetch("t", session_epoch=0), 11)).session_id == 0
        assert (await client.send(fetch("t", session_epoch=0, replica_id=3), 11)).session_id > 0
        assert broker.metrics.session_evictions.value == 1


async def test_half_of_the_conversion_memory_can_be_claimed(tmp_path: Path) -> None:
    """The rest is for what comes with the buffers: 100 readers took 42 MiB where buffers were given all of 32."""
    async with running_broker(tmp_path, stepdown_conversion_memory_bytes=4 << 20) as broker:
        assert broker.conversion_budget.limit_bytes == 2 << 20
