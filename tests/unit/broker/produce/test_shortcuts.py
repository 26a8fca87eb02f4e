"""The short way of a produce request answers, writes and counts what the long way does."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.handlers import produce as long_way
from stepdown.broker.network.connection import Peer
from stepdown.broker.produce import shortcuts
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.admin import create
from support.client import RawClient
from support.clock import ManualClock
from support.files import FaultyFiles
from support.record_sets import NOW, patched, record_set, records, with_wrong_checksum
from support.running import running_broker

TOPIC_RESOURCE = 2
VERSIONS = range(3, 12)
PLAIN = record_set(2)
Frame = Callable[[RawClient], bytes]


class Onlooker:
    """An interceptor that does nothing, but whose broker goes the long way with every request."""

    async def before(self, call: Any) -> None:
        return None

    async def after(self, call: Any, response: Any) -> Any:
        return response


class Pair:
    """Two brokers of the same history, one of which goes the long way always, and a client of each."""

    def __init__(self, brokers: list[Broker], clients: list[RawClient]) -> None:
        self.brokers = brokers
        self.clients = clients
        self.sent = 0

    async def send(self, data: bytes) -> bytes:
        """What both answer to this frame: its size is put before it, and a correlation id into it."""
        self.sent += 1
        data = data[:4] + self.sent.to_bytes(4, "big") + data[8:]
        answers = []
        for client in self.clients:
            await client.send_raw(len(data).to_bytes(4, "big") + data)
            answers.append(await client.read_frame())
        assert answers[0] == answers[1]
        assert answers[0] is not None
        assert answers[0][:4] == data[4:8]
        return answers[0]

    async def request(self, request: Any, version: int) -> None:
        for client in self.clients:
            await client.send(request, version)

    async def create(self, name: str, **configs: str) -> None:
        for client in self.clients:
            await create(client, name, 2, {key.replace("_", "."): value for key, value in configs.items()})

    def counted(self, broker: Broker) -> dict[Any, float]:
        """All that was counted, but for how long it took."""
        return {
            (sample.name, *sample.labels.items()): sample.value
            for family in broker.metrics.instruments.collect()
            for sample in family.samples
            if ("Produce" in sample.labels.values() and not _is_time(sample.name)) or sample.labels.keys() == {"topic"}
        }


def _is_time(name: str) -> bool:
    return "seconds" in name and not name.endswith("_count")


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        brokers, clients = [], []
        for name, interceptors in (("short", ()), ("long", (Onlooker(),))):
            clock = ManualClock(NOW)
            running = running_broker(tmp_path / name, clock=clock, interceptors=interceptors)
            broker = await stack.enter_async_context(running)
            client = await RawClient.connect(broker.address.host, broker.address.port)
            brokers.append(broker)
            clients.append(await stack.enter_async_context(client))
        yield Pair(brokers, clients)


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, clock=ManualClock(NOW)) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port) as connected:
        await create(connected, "orders", 2)
        yield connected


def produce(data: bytes | None = PLAIN, *, topic: str = "orders", index: int = 0, acks: int = 1, **fields: Any) -> Any:
    part = PartitionProduceData(index=index, records=data)
    whole = (TopicProduceData(name=topic, partition_data=(part,)),)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=whole, **fields)


def frame(request: ProduceRequest, version: int, client_id: str | None = "raw") -> bytes:
    return RawClient(None, None, client_id).frame(request, version)[4:]  # type: ignore[arg-type]


def no_long_way(*_: Any) -> None:
    raise AssertionError("the long way")


def requests() -> Iterator[tuple[ProduceRequest, int, str | None]]:
    """Right and wrong ones, each to be sent several times."""
    for version in VERSIONS:
        for acks in (1, -1):
            yield produce(acks=acks, index=version % 2), version, "raw"
    for client_id in (None, "", "ü", "long" * 200):
        yield produce(), 7, client_id
        yield produce(), 11, client_id
    for version in (3, 8, 11):
        yield produce(with_wrong_checksum(PLAIN)), version, "raw"
        yield produce(record_set(2, Codec.LZ4)), version, "raw"
        yield produce(record_set(1)), version, "raw"
        yield produce(PLAIN + PLAIN), version, "raw"
        yield produce(PLAIN[:-1]), version, "raw"
        yield produce(b""), version, "raw"
        yield produce(None), version, "raw"
        yield produce(patched(PLAIN, base_offset=3)), version, "raw"
        yield produce(record_set(2, transactional=True, producer_id=4, producer_epoch=0, base_sequence=0)), version, "t"
        yield produce(transactional_id="mine"), version, "raw"
        yield produce(index=7), version, "raw"
        yield produce(topic="nowhere"), version, "raw"
        yield produce(acks=3), version, "raw"
        yield produce(topic="small"), version, "raw"
        yield produce(record_set(2, content=[Record(timestamp=NOW, value=bytes(500))]), topic="small"), version, "raw"
        yield produce(topic="keyed"), version, "raw"
        yield produce(record_set(2, content=records(NOW, key=None)), topic="keyed"), version, "raw"
        yield produce(topic="recent"), version, "raw"
        yield produce(record_set(2, content=records(NOW - 10**6)), topic="recent"), version, "raw"
        yield produce(topic="packed"), version, "raw"
        yield produce(topic="stamped"), version, "raw"
        for sequence in (0, 0, 3, 9, 3):
            batch = record_set(2, producer_id=version, producer_epoch=0, base_sequence=sequence)
            yield produce(batch, topic="recent", index=1), version, "raw"
    many = tuple(produce().topic_data) * 2
    yield ProduceRequest(acks=1, timeout_ms=1000, topic_data=many), 9, "raw"


async def test_both_ways_answer_write_and_count_the_same(pair: Pair) -> None:
    await pair.create("orders")
    await pair.create("small", max_message_bytes="200")
    await pair.create("keyed", cleanup_policy="compact")
    await pair.create("recent", message_timestamp_before_max_ms="1000")
    await pair.create("packed", compression_type="lz4")
    await pair.create("stamped", message_timestamp_type="LogAppendTime")
    for request, version, client_id in requests():
        for _ in range(3):
            await pair.send(frame(request, version, client_id))
    assert len(pair.brokers[0].shortcuts) > len(VERSIONS)
    counted = [pair.counted(broker) for broker in pair.brokers]
    assert counted[0] == counted[1]
    assert counted[0]
    for name, index in pair.brokers[0].log_dirs.logs:
        logs = [broker.log_dirs.logs[name, index] for broker in pair.brokers]
        slices = [log.read(0, 1 << 30, below=log.log_end_offset) for log in logs]
        assert slices[0].read(0, slices[0].size_bytes) == slices[1].read(0, slices[1].size_bytes)


async def test_both_ways_answer_the_same_after_something_changed(pair: Pair) -> None:
    await pair.create("orders")
    for version in (3, 11):
        for _ in range(2):
            await pair.send(frame(produce(acks=-1), version))
        for broker in pair.brokers:
            broker.cluster.partition("orders", 0).leader_id = 9
        await pair.send(frame(produce(acks=-1), version))
        for broker in pair.brokers:
            partition = broker.cluster.partition("orders", 0)
            partition.leader_id, partition.leader_epoch = broker.cluster.node_id, partition.leader_epoch + 1
        await pair.send(frame(produce(acks=-1), version))
        for broker in pair.brokers:
            broker.cluster.partition("orders", 0).replicas = (broker.cluster.node_id, 9)
        await pair.send(frame(produce(acks=-1), version))

        change = AlterableConfig(name="message.timestamp.type", config_operation=0, value="LogAppendTime")
        resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="orders", configs=(change,))
        await pair.request(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
        for _ in range(2):
            await pair.send(frame(produce(), version))

        await pair.request(DeleteTopicsRequest(topic_names=("orders",), timeout_ms=1000), 4)
        assert not len(pair.brokers[0].shortcuts)
        await pair.send(frame(produce(), version))
        await pair.create("orders")
        for _ in range(2):
            await pair.send(frame(produce(), version))


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_follows_the_records_is_for_the_long_way(pair: Pair, version: int) -> None:
    await pair.create("orders")
    for tail in (b"", b"", b"\0", b"junk", PLAIN):
        await pair.send(frame(produce(), version) + tail)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_second_request_goes_the_short_way(
    client: RawClient, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.send(produce(), version)
    monkeypatch.setattr(long_way, "handle", no_long_way)
    response: ProduceResponse = await client.send(produce(), version)
    place = response.responses[0].partition_responses[0]
    assert (place.index, place.error_code, place.base_offset) == (0, 0, 3)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_request_that_is_cut_is_not_for_the_short_way(broker: Broker, client: RawClient, version: int) -> None:
    await client.send(produce(), version)
    whole = memoryview(frame(produce(), version))

    peer = Peer(host="", port=0, listener="PLAINTEXT")
    for end in range(len(whole)):
        assert broker.shortcuts.answer(whole[:end], peer, 0.0) is None
    assert broker.shortcuts.answer(whole, peer, 0.0) is not None
    assert peer.client_id == "raw"


async def test_a_full_disk_is_answered_as_56(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = FaultyFiles()
    async with (
        running_broker(tmp_path, files=files) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders")
        await client.send(produce(), 9)
        files.space_left = 10
        response = await client.send(produce(), 9)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "appending to orders-0" in caplog.text
        files.space_left = None
        response = await client.send(produce(), 9)
        place = response.responses[0].partition_responses[0]
        assert (place.error_code, place.base_offset) == (ErrorCode.NONE, 3)


async def test_shortcuts_are_not_kept_without_end(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortcuts, "MOST_SHORTCUTS", 3)
    for n in range(10):
        client.client_id = f"client {n}"
        await client.send(produce(), 9)
        assert len(broker.shortcuts) <= 3
    first = list(broker.shortcuts._known)
    for n in range(shortcuts.LEARNED_OF_MANY):
        client.client_id = f"another {n}"
        await client.send(produce(), 9)
    assert len(set(first) & set(broker.shortcuts._known)) == 2
    client.client_id = "long" * 200
    for _ in range(shortcuts.LEARNED_OF_MANY):
        await client.send(produce(), 9)
    assert len(set(first) & set(broker.shortcuts._known)) == 2
