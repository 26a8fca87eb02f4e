"""Five million records of our producer, a million with each codec: the Java client reads exactly those, in order."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stepdown.producer import Producer
from support.broker import BrokerProcess, Stepdown
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.kafka import ApacheKafka
from support.kafka_4 import ApacheKafka4

RECORDS_A_CODEC = 1_000_000
PARTITIONS = 3
READ_AT_ONCE = 50_000
START_MS = 1_700_000_000_000
TEXTS = [bytes(97 + (index * place + place // 7) % 26 for place in range(20 + index * 3)) for index in range(41)]

BROKERS: dict[str, Callable[[Path], BrokerProcess]] = {
    "stepdown": Stepdown,
    "kafka-3.9.1": ApacheKafka,
    "kafka-4.1.1": ApacheKafka4,
}


def message(number: int) -> Message:
    """Keys, nulls and headers as the number has it; it stands in the timestamp too."""
    return Message(
        key=None if number % 3 else b"%d" % (number % 1000),
        value=None if number % 997 == 0 else b"%d " % number + TEXTS[number % len(TEXTS)],
        headers=() if number % 50 else (("number", b"%d" % number), ("nothing", None)),
        timestamp_ms=START_MS + number,
    )


async def write(address: str, topic: str, codec: str) -> None:
    settings = {"linger_ms": 5, "compression": codec, "batch_size": 65536}
    async with Producer(address, **settings) as producer:  # type: ignore[arg-type]
        for number in range(RECORDS_A_CODEC):
            each = message(number)
            delivery = producer.send(
                topic,
                each.value,
                key=each.key,
                headers=each.headers,
                timestamp=each.timestamp_ms,
                partition=number % PARTITIONS,
            )
            if number % 64 == 0:
                await asyncio.sleep(0)
            await delivery.accepted()
        await producer.flush()
        assert producer.metrics()["record-error-total"] == 0
        assert (await delivery).offset == (RECORDS_A_CODEC - 1) // PARTITIONS


def read(address: str, topic: str, partition: int) -> int:
    """Reads a whole partition; how many records were as they had to be, and where they had to be."""
    count = len(range(partition, RECORDS_A_CODEC, PARTITIONS))
    for first in range(0, count, READ_AT_ONCE):
        span = Span(topic=topic, partition=partition, offset=first, count=min(READ_AT_ONCE, count - first))
        for place, received in enumerate(JAVA_3_9.consume(address, "exact", [span]), first):
            assert (received.offset, received.message) == (place, message(place * PARTITIONS + partition))
    return count


@pytest.fixture(scope="module", params=BROKERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BROKERS[request.param](tmp_path_factory.mktemp("exact")) as running:
        yield running


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_a_million_records_arrive_exactly(server: BrokerProcess, codec: str) -> None:
    topic = f"exact-{codec}"
    await asyncio.to_thread(server.create_topic, topic, partitions=PARTITIONS, configs={"retention.ms": "-1"})
    await write(server.address, topic, codec)
    read_counts = [await asyncio.to_thread(read, server.address, topic, each) for each in range(PARTITIONS)]
    assert sum(read_counts) == RECORDS_A_CODEC
