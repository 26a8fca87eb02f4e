"""Our producer before Kafka 0.10.2 and 1.1 themselves: it finds out what they speak and writes the format they keep."""

import asyncio
from collections.abc import Iterator

import pytest
from stepdown.producer import Producer, ProducerError
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from support.clients import Message, Span
from support.clients_java import JAVA_0_10_2, JAVA_3_9, JavaClient
from support.kafka_old import OldKafka
from support.samples import first_difference, many

pytestmark = pytest.mark.java

COUNT = 1500
READERS: dict[str, JavaClient] = {"0.10.2.2": JAVA_0_10_2, "1.1.1": JAVA_3_9}
MAGIC = {"0.10.2.2": 1, "1.1.1": 2}


@pytest.fixture(scope="module", params=READERS)
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OldKafka]:
    with OldKafka(tmp_path_factory.mktemp("old"), request.param) as running:
        yield running


async def write(old: OldKafka, topic: str, messages: list[Message], **settings: object) -> list[int]:
    async with Producer(old.address, linger_ms=2, **settings) as producer:  # type: ignore[arg-type]
        deliveries = [
            producer.send(topic, m.value, key=m.key, headers=m.headers, timestamp=m.timestamp_ms, partition=0)
            for m in messages
        ]
        return [(await delivery).offset for delivery in deliveries]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
async def test_it_writes_the_magic_of_the_brokers_age_and_java_reads_it(old: OldKafka, codec: str) -> None:
    magic, reader = MAGIC[old.version], READERS[old.version]
    messages = [message.at_magic(magic) for message in many(COUNT, 300)]
    await asyncio.to_thread(old.create_topic, codec)
    offsets = await write(old, codec, messages, compression=codec, enable_idempotence=magic == 2)
    assert offsets == list(range(COUNT))
    received = await asyncio.to_thread(reader.consume, old.address, "j", [Span(topic=codec, count=COUNT)])
    assert first_difference(messages, [record.message for record in received]) is None
    [segment] = (old.log_dir / f"{codec}-0").glob("*.log")
    batches = list(iter_batches(memoryview(segment.read_bytes())))
    assert {(batch.magic, batch.codec) for batch in batches} == {(magic, Codec[codec.upper()])}


async def test_idempotence_needs_kafka_0_11(old: OldKafka) -> None:
    await asyncio.to_thread(old.create_topic, "idempotent")
    if MAGIC[old.version] == 2:
        assert await write(old, "idempotent", many(10, 100)) == list(range(10))
    else:
        with pytest.raises(ProducerError, match=r"older than 0\.11, so set enable\.idempotence=false"):
            await write(old, "idempotent", [message.at_magic(1) for message in many(10, 100)])


async def test_zstd_needs_kafka_2_1(old: OldKafka) -> None:
    await asyncio.to_thread(old.create_topic, "zstd")
    messages = [message.at_magic(1) for message in many(3, 100)]
    with pytest.raises(ProducerError, match="has no zstd"):
        await write(old, "zstd", messages, compression="zstd", enable_idempotence=False)
