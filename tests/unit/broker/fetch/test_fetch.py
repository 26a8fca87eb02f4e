"""Fetch, old and new, against a broker in this process."""

import asyncio
import os
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any

import pytest
from stepdown.broker.fetch import partition_reading as fetch_read
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.conversion.down import Converted
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion import chunk, conversion_rules, converted_stream
from stepdown.storage.downconversion.converted_stream import ConvertedStream
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.fetching import connect, create, fetch, fetched, magics, parked, produce, read, records
from support.running import running_broker

MARKER = build_control_marker(
    ControlType.COMMIT,
    offset=0,
    producer_id=5,
    producer_epoch=0,
    coordinator_epoch=1,
    timestamp=1,
    partition_leader_epoch=0,
)
CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("version", range(18))
async def test_every_version_reads_what_was_produced(tmp_path: Path, version: int, codec: Codec) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        for at in range(3):
            await produce(client, "t", build_batch(records(20, first=20 * at), codec=codec))
        request = fetch("t")
        if version >= 13:
            topic_id = broker.cluster.topics["t"].topic_id
            request = FetchRequest(
                max_bytes=1 << 20, topics=(FetchTopic(topic_id=topic_id, partitions=request.topics[0].partitions),)
            )
        answer = await fetched(client, request, version)
        assert answer.error_code == 0
        assert answer.high_watermark == 60
        got = read(answer.records)
        expected_magic = 0 if version < 2 else 1 if version < 4 else 2
        assert magics(answer.records) == {expected_magic}
        expected = [(n, 1000 + n if expected_magic else -1, f"k{n}".encode()) for n in range(len(got))]
        assert [row[:3] for row in got] == expected
        assert len(got) >= 20
        assert len(got) == 60 or version < 4


async def drain(client: RawClient, topic: str, version: int, end: int, **limits: Any) -> list[Any]:
    """All records up to `end`, fetch after fetch, as an old client would."""
    got: list[Any] = []
    while not got or got[-1][0] < end - 1:
        offset = got[-1][0] + 1 if got else 0
        answer = await fetched(client, fetch(topic, offset, **limits), version)
        assert answer.error_code == 0
        new = [row for row in read(answer.records) if row[0] >= offset]
        assert new, f"no progress at {offset}"
        got += new
    return got


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_an_old_client_reads_every_record_once_in_order(tmp_path: Path, version: int, codec: Codec) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        for at in range(0, 500, 50):
            await produce(client, "t", build_batch(records(50, 300, first=at), codec=codec))
        got = await drain(client, "t", version, 500, max_bytes=30_000)
        assert [row[0] for row in got] == list(range(500))
        assert got[437][3] == bytes([65 + 437 % 26]) * 300


async def test_a_promise_larger_than_the_data_is_filled_with_an_overflow_entry(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        await produce(client, "t", build_batch([records(1, 10)[0]], codec=Codec.NONE))
        big = Record(
            offset=0,
            timestamp=5,
            timestamp_type=TimestampType.CREATE_TIME,
            key=None,
            value=b"v" * 40,
            headers=(("name", b"x" * 500),),
        )
        await produce(client, "t", build_batch([big]))
        answer = await fetched(client, fetch("t", 1), 2)
        stored = (await fetched(client, fetch("t", 1), 4)).records
        assert len(answer.records) == len(stored)
        assert [row[0] for row in read(answer.records)] == [1]
        message = 34 + 40
        rest = bytes(answer.records)[message:]
        assert rest[:12] == struct.pack(">qi", -1, max(len(rest) + 1, 61))
        assert rest[12:] == bytes(len(rest) - 12)


async def test_a_fetch_inside_a_plain_batch_is_trimmed_and_inside_a_compressed_one_is_not(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", 2)
        await produce(client, "t", build_batch(records(10)), 0)
        await produce(client, "t", build_batch(records(10), codec=Codec.GZIP), 1)
        plain = await fetched(client, fetch("t", 6), 3)
        assert [row[0] for row in read(plain.records)] == [6, 7, 8, 9]
        packed = await fetched(client, fetch("t", 6, partitions=[1]), 3)
        assert [row[0] for row in read(packed.records)] == list(range(10))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_down_conversion_switched_off_refuses_old_fetches_only(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "off", message_downconversion_enable="false")
        await produce(client, "off", build_batch(records(3)))
        answer = await fetched(client, fetch("off"), version)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert answer.high_watermark == -1
        assert bytes(answer.records) == b""
        assert (await fetched(client, fetch("off"), 4)).error_code == 0
        follower = await fetched(client, fetch("off", replica_id=1), version)
        assert follower.error_code == 0


@pytest.mark.parametrize("version", [2, 3])
async def test_zstd_is_refused_to_old_clients(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        await produce(client, "t", build_batch(records(3), codec=Codec.ZSTD))
        answer = await fetched(client, fetch("t"), version)
        assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert bytes(answer.records) == b""
        assert (await fetched(client, fetch("t"), 9)).error_code == 0


async def test_the_client_report_tells_what_was_converted_and_what_was_refused(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await connect(broker)
        for name, codec in (("plain", Codec.LZ4), ("refused", Codec.ZSTD)):
            await create(client, name)
            await produce(client, name, build_batch(records(3), codec=codec))
            await fetched(client, fetch(name), 2)
        (row,) = broker.clients.document()["clients"]
    assert row["converted"] == {"v2 lz4 as v1": 1}
    assert row["lost"] == {"zstd": 1}
    assert row["loss_details"]["zstd"]["topics"] == ["refused"]
    assert row["produced"] == {"v2 lz4": 1, "v2 zstd": 1}


async def test_lz4_that_kafka_node_cannot_read_is_counted(tmp_path: Path) -> None:
    """It was sent compressed bytes as values, and the report said that it lost nothing."""
    async with (
        running_broker(tmp_path) as broker,
        await RawClient.connect("127.0.0.1", broker.address.port, client_id="kafka-node-client") as client,
    ):
        for name, codec in (("in-lz4", Codec.LZ4), ("in-gzip", Codec.GZIP)):
            await create(client, name)
            await produce(client, name, build_batch(records(3), codec=codec))
            await fetched(client, fetch(name), 2)
        (row,) = broker.clients.document()["clients"]
    assert row["lost"] == {"lz4": 1}
    assert row["loss_details"]["lz4"]["topics"] == ["in-lz4"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "none"])
async def test_zstd_becomes_what_the_operator_says(tmp_path: Path, codec: str) -> None:
    async with running_broker(tmp_path, stepdown_downconversion_zstd=codec) as broker, await connect(broker) as client:
        await create(client, "t", compression_type="zstd")
        await produce(client, "t", build_batch(records(30)))
        for version in (1, 3):
            answer = await fetched(client, fetch("t"), version)
            assert answer.error_code == 0
            assert [row[0] for row in read(answer.records)] == list(range(30))


async def test_a_zstd_topic_is_refused_below_version_10(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", compression_type="zstd")
        for version, code in ((3, 76), (9, 76), (10, 0)):
            assert (await fetched(client, fetch("t"), version)).error_code == code


async def test_good_batches_before_a_zstd_batch_are_sent_then_the_error(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        await produce(client, "t", build_batch(records(3)))
        await produce(client, "t", build_batch(records(400), codec=Codec.ZSTD))
        answer = await fetched(client, fetch("t"), 3)
        assert [row[0] for row in read(answer.records)] == [0, 1, 2]
        assert (await fetched(client, fetch("t", 3), 3)).error_code == 76


async def test_a_damaged_batch_is_never_given_a_good_checksum(tmp_path: Path) -> None:
    """Kafka converts without looking at the checksum, and so hides the damage."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        for at in range(2):
            await produce(client, "t", build_batch(records(5, first=5 * at)))
        (log_file,) = (tmp_path / "t-0").glob("*.log")
        data = bytearray(log_file.read_bytes())
        data[-20] ^= 1
        log_file.write_bytes(data)
        answer = await fetched(client, fetch("t"), 2)
        assert [row[0] for row in read(answer.records)] == [0, 1, 2, 3, 4]
        assert (await fetched(client, fetch("t", 5), 2)).error_code == ErrorCode.CORRUPT_MESSAGE


async def test_markers_are_dropped_and_data_behind_them_is_found_once(tmp_path: Path) -> None:
    """Kafka sends the first batch twice when markers came before it, and 12 bytes when only markers are left."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        partition = broker.cluster.partition("t", 0)
        partition.log.append_as_follower(MARKER)
        for at in range(2):
            batch = build_batch(records(3, first=3 * at, offset=1 + 3 * at), partition_leader_epoch=0)
            partition.log.append_as_follower(batch)
        got = read((await fetched(client, fetch("t"), 2)).records)
        assert [row[0] for row in got][:3] == [1, 2, 3]
        assert len(got) == len({row[0] for row in got})


@pytest.mark.parametrize("version", [0, 2, 3])
async def test_a_position_on_a_trailing_marker_waits_instead_of_failing(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        partition = broker.cluster.partition("t", 0)
        partition.log.append_as_follower(MARKER)
        answer = await fetched(client, fetch("t"), version)
        assert (answer.error_code, bytes(answer.records)) == (0, b"")


@pytest.mark.parametrize("version", [0, 2, 3, 4])
async def test_a_message_above_the_limit(tmp_path: Path, version: int) -> None:
    """Before v3 a client has to see that a message is larger than its limit; from v3 on it gets the batch whole."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        await produce(client, "t", build_batch(records(1, 5000)))
        whole = bytes((await fetched(client, fetch("t"), version)).records)
        answer = await fetched(client, fetch("t", max_bytes=100), version)
        assert bytes(answer.records) == (whole if version >= 3 else whole[:100])


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("version", [0, 1, 2])
async def test_of_a_batch_above_the_limit_comes_what_fits(tmp_path: Path, version: int, codec: Codec) -> None:
    """Kafka sends nothing, and a client of that age asks for the same offset for ever; so did we say "too large"."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        noise = Random(1)
        rows = [Record(offset=n, timestamp=1, value=noise.randbytes(1000)) for n in range(100)]
        await produce(client, "t", build_batch(rows, codec=codec))
        whole = bytes((await fetched(client, fetch("t"), version)).records)
        for offset, limit in ((0, 5000), (3, 5000), (0, 70_000)):
            answer = await fetched(client, fetch("t", offset, max_bytes=limit), version)
            found = [row[0] for row in read(answer.records)]
            assert len(answer.records) == limit
            if codec is Codec.NONE:
                assert found == list(range(offset, offset + limit // (1034 if version == 2 else 1026)))
            else:
                assert (found, bytes(answer.records)) == ([], whole[:limit])
        assert broker.conversion_budget.in_use_bytes == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_a_batch_for_which_other_partitions_leave_no_room_is_not_too_large(
    tmp_path: Path, version: int, codec: Codec
) -> None:
    """An old client that is told so gives up; it comes first when it asks again."""
    async with running_broker(tmp_path, fetch_max_bytes=8000) as broker, await connect(broker) as client:
        await create(client, "t", 3)
        noise = Random(1).randbytes(5000)
        for index in range(3):
            await produce(client, "t", build_batch([Record(offset=0, timestamp=1, value=noise)], codec=codec), index)
        answer = await client.send(fetch("t", partitions=range(3)), version)
        assert [len(read(p.records)) for p in answer.responses[0].partitions] == [1, 0, 0]
        assert [bytes(p.records) for p in answer.responses[0].partitions[1:]] == [b"", b""]


@pytest.mark.parametrize("version", [2, 3])
async def test_a_batch_above_what_a_whole_response_may_have(tmp_path: Path, version: int) -> None:
    async with running_broker(tmp_path, fetch_max_bytes=2000) as broker, await connect(broker) as client:
        await create(client, "t")
        await produce(client, "t", build_batch(records(1, 5000)))
        answer = await fetched(client, fetch("t"), version)
        assert len(read(answer.records)) == (version >= 3)
        assert (len(answer.records) == 2000) == (version < 3)


async def test_markers_before_a_batch_leave_no_more_room_than_there_was(tmp_path: Path) -> None:
    async with running_broker(tmp_path, fetch_max_bytes=8000) as broker, await connect(broker) as client:
        await create(client, "t", 2)
        await produce(client, "t", build_batch(records(1, 5000)))
        log = broker.cluster.partition("t", 1).log
        log.append_as_follower(MARKER)
        await produce(client, "t", build_batch(records(1, 5000)), 1)
        first, second = (await client.send(fetch("t", partitions=range(2)), 2)).responses[0].partitions
        assert (len(read(first.records)), bytes(second.records)) == (1, b"")


async def test_a_long_poll_ends_with_the_append(tmp_path: Path) -> None:
    async with (
        running_broker(tmp_path, clock=ManualClock()) as broker,
        await connect(broker) as reader,
        await connect(broker) as writer,
    ):
        await create(writer, "t")
        waiting = asyncio.create_task(fetched(reader, fetch("t", max_wait_ms=500, min_bytes=1), 4))
        await parked(broker)
        assert not waiting.done()
        await produce(writer, "t", build_batch(records(2)))
        assert len(read((await waiting).records)) == 2


async def test_a_long_poll_ends_with_its_time(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker, await connect(broker) as client:
        await create(client, "t")
        waiting = asyncio.create_task(fetched(client, fetch("t", max_wait_ms=500, min_bytes=1), 3))
        await parked(broker)
        await clock.advance(499)
        assert not waiting.done()
        await clock.advance(1)
        assert (await waiting).error_code == 0


@pytest.mark.parametrize(
    ("request_for", "code"),
    [
        pytest.param(lambda: fetch("nowhere"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, id="no-topic"),
        pytest.param(lambda: fetch("t", partitions=[9]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, id="no-partition"),
        pytest.param(lambda: fetch("t", 77), ErrorCode.OFFSET_OUT_OF_RANGE, id="above-the-end"),
        pytest.param(lambda: fetch("t", -3), ErrorCode.OFFSET_OUT_OF_RANGE, id="below-the-start"),
    ],
)
@pytest.mark.parametrize("version", [0, 3, 11])
async def test_what_cannot_be_read_is_answered_with_its_code(
    tmp_path: Path, version: int, request_for: Any, code: ErrorCode
) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        answer = await fetched(client, request_for(), version)
        assert answer.error_code == code
        assert bytes(answer.records or b"") == b""


async def test_a_session_hears_only_news(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", 3)
        await produce(client, "t", build_batch(records(1)), 1)
        full = await client.send(fetch("t", partitions=range(3), session_epoch=0), 7)
        assert full.session_id > 0
        assert len(full.responses[0].partitions) == 3

        def next_fetch(epoch: int, *, topics: Sequence[FetchTopic] = (), forgotten: Sequence[Any] = ()) -> FetchRequest:
            return FetchRequest(
                session_id=full.session_id,
                session_epoch=epoch,
                topics=topics,
                forgotten_topics_data=forgotten,
                max_bytes=1 << 20,
            )

        moved = FetchTopic(
            topic="t", partitions=(FetchPartition(partition=1, fetch_offset=1, partition_max_bytes=1 << 20),)
        )
        quiet = await client.send(next_fetch(1, topics=(moved,)), 7)
        assert quiet.responses == ()
        await produce(client, "t", build_batch(records(1)), 2)
        news = await client.send(next_fetch(2), 7)
        assert [p.partition_index for topic in news.responses for p in topic.partitions] == [2]
        stale = await client.send(next_fetch(2), 7)
        assert stale.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        forgetful = next_fetch(3, forgotten=(ForgottenTopic(topic="t", partitions=(0, 1, 2)),))
        assert (await client.send(forgetful, 7)).session_id == 0
        assert (await client.send(next_fetch(4), 7)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_the_response_limit_is_shared_in_order(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", 3)
        for index in range(3):
            await produce(client, "t", build_batch(records(10, 1000)), index)
        response = await client.send(fetch("t", partitions=range(3), max_bytes=1 << 20), 4)
        assert [len(p.records) > 0 for p in response.responses[0].partitions] == [True] * 3
        small = FetchRequest(max_bytes=11_000, topics=fetch("t", partitions=range(3)).topics)
        response = await client.send(small, 4)
        assert [len(p.records) > 0 for p in response.responses[0].partitions] == [True, False, False]


async def test_the_epoch_of_an_empty_partition_is_known(tmp_path):
    """A consumer that committed with an epoch and found an empty partition was told that its offset is out of range."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        request = fetch("t")
        [part] = request.topics[0].partitions
        topic = replace(request.topics[0], partitions=(replace(part, last_fetched_epoch=0),))
        answer = await fetched(client, replace(request, topics=(topic,)), 12)
        assert (answer.error_code, answer.high_watermark, answer.diverging_epoch.epoch) == (0, 0, -1)


async def test_an_append_looks_at_its_own_partition_of_a_parked_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch of thousands of partitions would else hold the loop after each append to one of them."""
    async with running_broker(tmp_path) as broker, await connect(broker) as reader, await connect(broker) as writer:
        await create(reader, "t", 50)
        request = fetch("t", partitions=range(50), max_wait_ms=60_000, min_bytes=450)
        waiting = asyncio.create_task(reader.send(request, 11))
        await parked(broker)
        looked: list[int] = []
        read_one = fetch_read._read_partition

        def counted(cluster: Any, reading: Any, *rest: Any) -> None:
            looked.append(reading.interest.index)
            read_one(cluster, reading, *rest)

        monkeypatch.setattr(fetch_read, "_read_partition", counted)
        await produce(writer, "t", build_batch(records(1)), 7)
        await produce(writer, "t", build_batch(records(1)), 3)
        assert looked == [7, 3]
        await produce(writer, "t", build_batch(records(1)), 7)
        answer = await waiting
        found = {part.partition_index for part in answer.responses[0].partitions if part.records}
        assert found == {3, 7}


def incompressible(first: int) -> bytes:
    """A compressed batch of 300 kB."""
    chance = Random(first)
    rows = [Record(offset=n, timestamp=5, key=None, value=chance.randbytes(600)) for n in range(500)]
    return build_batch(rows, codec=Codec.GZIP)


async def test_a_large_first_batch_is_converted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was converted for the size that is promised, and again for its bytes."""
    opened: list[int] = []

    def counting(batch: memoryview, rules: conversion_rules.ConversionRules) -> Converted:
        opened.append(len(batch))
        return conversion_rules.convert_compressed_batch(batch, rules)

    monkeypatch.setattr(chunk, "convert_compressed_batch", counting)
    monkeypatch.setattr(converted_stream, "convert_compressed_batch", counting)
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        for at in range(3):
            await produce(client, "t", incompressible(500 * at))
        answer = await fetched(client, fetch("t"), 2)
        assert [row[0] for row in read(answer.records)] == list(range(1000))  # the third batch is cut
        assert len(opened) == 3
        assert broker.conversion_budget.in_use_bytes == 0


CODECS = pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4], ids=lambda codec: codec.name.lower())


def varied(count: int, codec: Codec) -> bytes:
    """A compressed batch of so many records of 600 bytes, which stay as large."""
    chance = Random(count)
    rows = [Record(offset=n, timestamp=5, key=None, value=chance.randbytes(600)) for n in range(count)]
    return build_batch(rows, codec=codec)


async def fetched_counts(client: RawClient, version: int = 2) -> dict[int, int]:
    """How many records came of each of four partitions."""
    answer = await client.send(fetch("t", partitions=range(4)), version)
    return {part.partition_index: len(read(part.records)) for part in answer.responses[0].partitions}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4], ids=lambda c: c.name.lower())
async def test_what_came_since_the_last_fetch_is_converted_in_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: Codec
) -> None:
    """A reader at the end of the log gets a batch or two of each partition: these went to a worker, twice."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", 4)
        for partition in range(4):
            await produce(client, "t", build_batch(records(5 + partition), codec=codec), partition)
        await client.send(fetch("nowhere"), 2)  # a worker reads the handler
        with monkeypatch.context() as patched:
            patched.delattr(broker.workers, "_threads")
            assert await fetched_counts(client) == {0: 5, 1: 6, 2: 7, 3: 8}
        assert broker.conversion_budget.in_use_bytes == 0


@CODECS
async def test_a_first_chunk_is_converted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: Codec) -> None:
    fills: list[int] = []
    convert = chunk.Chunk.convert

    def counted(one: chunk.Chunk, *first: Any) -> None:
        convert(one, *first)
        fills.append(one.records)

    monkeypatch.setattr(chunk.Chunk, "convert", counted)
    monkeypatch.delattr(converted_stream, "size_as_wrapper")
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t")
        for _ in range(2):
            await produce(client, "t", varied(100, codec))
        assert len(read((await fetched(client, fetch("t"), 2)).records)) >= 100  # what becomes larger cuts what follows
        assert len(fills) == 1
        assert broker.conversion_budget.in_use_bytes == 0


async def test_compressed_partitions_of_one_fetch_are_converted_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, fill, pairs = Barrier(2), ConvertedStream.fill, list[int]()

    def together(stream: ConvertedStream, buffer: bytearray | None) -> int:
        if stream.needs_worker:
            pairs.append(both.wait(timeout=DEADLINE_S))
        return fill(stream, buffer)

    monkeypatch.setattr(ConvertedStream, "fill", together)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", 4)
        for partition in range(4):
            await produce(client, "t", varied(200 + partition, Codec.LZ4), partition)
        assert await fetched_counts(client) == {0: 200, 1: 201, 2: 202, 3: 203}
        assert sorted(pairs) == [0, 0, 1, 1]
        assert broker.conversion_budget.in_use_bytes == 0


async def test_a_fault_in_one_of_them_fails_the_fetch_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill, batches = ConvertedStream.fill, [varied(200 + n, Codec.LZ4) for n in range(4)]

    def failing(stream: ConvertedStream, buffer: bytearray | None) -> int:
        if stream.source.size_bytes == len(batches[1]):
            raise RuntimeError("a fault of ours")
        return fill(stream, buffer)

    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await create(client, "t", 4)
        for partition, batch in enumerate(batches):
            await produce(client, "t", batch, partition)
        with monkeypatch.context() as patched:
            patched.setattr(ConvertedStream, "fill", failing)
            answer = await client.send(fetch("t", partitions=range(4)), 2)
        assert {part.error_code for part in answer.responses[0].partitions} == {ErrorCode.UNKNOWN_SERVER_ERROR}
        assert await fetched_counts(client) == {0: 200, 1: 201, 2: 202, 3: 203}
        assert broker.conversion_budget.in_use_bytes == 0
