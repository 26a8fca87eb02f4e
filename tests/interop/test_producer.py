"""Our producer before a broker: what it writes, with every codec and to brokers of every age, others read back.

`STEPDOWN_TEST_BROKER=kafka` puts Apache Kafka in the broker's place.
"""

import asyncio
import random
import struct

import pytest
from stepdown.producer import Delivery, Producer
from stepdown.producer.accumulator.producer_batch import Batch
from stepdown.producer.injected_dependencies import Dependencies
from stepdown.producer.network.connections import Connections
from stepdown.producer.partitioners.murmur2 import partition_for_key
from stepdown.producer.pending_record import PendingRecord
from stepdown.producer.record_encoding import encode_headers
from stepdown.protocol.api import ApiKey
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from support.broker import BrokerProcess
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.clients_python import AIOKAFKA
from support.java_oracle import java_oracle_for
from support.kafka import ApacheKafka
from support.kafka_records import KafkaRecords
from support.samples import first_difference, many, samples

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


async def write(address: str, topic: str, messages: list[Message], **settings: object) -> list[int]:
    """The offsets of the messages, sent all at once to partition 0."""
    link = settings.pop("link", Connections)

    class Linked(Producer):
        def _make_dependencies(self) -> Dependencies:
            return Dependencies(link=link)  # type: ignore[arg-type]

    async with Linked(address, linger_ms=2, max_request_size=1 << 21, **settings) as producer:  # type: ignore[misc]
        deliveries = [
            producer.send(
                topic,
                message.value,
                key=message.key,
                headers=message.headers,
                timestamp=message.timestamp_ms,
                partition=0,
            )
            for message in messages
        ]
        return [(await delivery).offset for delivery in deliveries]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
async def test_another_client_reads_what_it_wrote(broker: BrokerProcess, codec: str, idempotent: bool) -> None:
    topic = f"ours-{codec}-{idempotent}"
    messages = [message for message in samples(2) if len(message.value or b"") < 1_000_000]
    await asyncio.to_thread(broker.create_topic, topic)
    offsets = await write(broker.address, topic, messages, compression=codec, enable_idempotence=idempotent)
    assert offsets == list(range(len(messages)))
    spans = [Span(topic=topic, count=len(messages))]
    received = await asyncio.to_thread(AIOKAFKA.consume, broker.address, "check", spans)
    assert first_difference(messages, [record.message for record in received]) is None


class Old(Connections):
    """Brokers that seem to speak no Produce above `produce`, as 0.9, 0.10 and 2.0 do."""

    produce = 1

    def versions(self, node_id: int) -> dict[int, tuple[int, int]]:
        return dict(super().versions(node_id)) | {int(ApiKey.PRODUCE): (0, self.produce)}


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 2), (6, 2), (8, 2)])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
async def test_brokers_of_any_age_get_the_format_they_know(
    broker: BrokerProcess, version: int, magic: int, codec: str
) -> None:
    topic = f"old-{version}-{codec}"
    messages = [message.at_magic(magic) for message in many(200, 500)]
    await asyncio.to_thread(broker.create_topic, topic)
    link = type("Aged", (Old,), {"produce": version})
    offsets = await write(broker.address, topic, messages, compression=codec, enable_idempotence=False, link=link)
    assert offsets == list(range(len(messages)))
    received = await asyncio.to_thread(AIOKAFKA.consume, broker.address, "check", [Span(topic=topic, count=200)])
    got = [record.message.at_magic(magic) for record in received]
    assert first_difference([message.at_magic(magic) for message in messages], got) is None


async def test_a_batch_above_the_topics_limit_is_split_and_all_of_it_arrives(broker: BrokerProcess) -> None:
    await asyncio.to_thread(broker.create_topic, "narrow", configs={"max.message.bytes": "2000"})
    messages = many(300, 100)
    async with Producer(broker.address, linger_ms=5, batch_size=16_384) as producer:
        deliveries = [producer.send("narrow", m.value, key=m.key, timestamp=m.timestamp_ms) for m in messages]
        offsets = [(await delivery).offset for delivery in deliveries]
        assert producer.metrics()["batch-split-total"] > 0
    assert sorted(offsets) == list(range(300))
    received = await asyncio.to_thread(AIOKAFKA.consume, broker.address, "check", [Span(topic="narrow", count=300)])
    assert sorted(r.message.value or b"" for r in received) == sorted(m.value or b"" for m in messages)


async def test_acks_0_and_1(broker: BrokerProcess) -> None:
    await asyncio.to_thread(broker.create_topic, "acks")
    messages = many(50, 100)
    assert await write(broker.address, "acks", messages, acks=0) == [-1] * 50
    one = await write(broker.address, "acks", messages, acks=1)
    assert one[0] in range(51) and one == list(range(one[0], one[0] + 50))


async def test_connections_that_break_lose_and_repeat_nothing(broker: BrokerProcess) -> None:
    await asyncio.to_thread(broker.create_topic, "broken")
    messages = many(2000, 100)
    async with Producer(broker.address, linger_ms=1, batch_size=1000) as producer:
        deliveries = [producer.send("broken", m.value, key=m.key, partition=0) for m in messages[:1000]]
        await deliveries[200]
        for node in producer._link._nodes.values():  # type: ignore[attr-defined]
            if node.connection is not None:
                node.connection.close()
        deliveries += [producer.send("broken", m.value, key=m.key, partition=0) for m in messages[1000:]]
        assert [(await delivery).offset for delivery in deliveries if (await delivery).offset >= 0]
    received = await asyncio.to_thread(AIOKAFKA.consume, broker.address, "check", [Span(topic="broken", count=2000)])
    assert [r.message.key for r in received] == [m.key for m in messages]


@pytest.mark.java
@pytest.mark.parametrize("codec", CODECS)
async def test_the_java_client_reads_it(broker: BrokerProcess, codec: str) -> None:
    messages = many(1500, 500, seed=7)
    topic = f"java-{codec}"
    await asyncio.to_thread(broker.create_topic, topic)
    await write(broker.address, topic, messages, compression=codec)
    received = await asyncio.to_thread(JAVA_3_9.consume, broker.address, "j", [Span(topic=topic, count=1500)])
    assert first_difference(messages, [record.message for record in received]) is None


@pytest.mark.java
async def test_kafka_takes_every_codec_and_java_reads_it(tmp_path: object) -> None:
    messages = many(1500, 500, seed=8)
    kafka = ApacheKafka(tmp_path)  # type: ignore[arg-type]
    await asyncio.to_thread(kafka.start)
    try:
        for codec in CODECS:
            await asyncio.to_thread(kafka.create_topic, codec)
            assert await write(kafka.address, codec, messages, compression=codec) == list(range(1500))
        spans = [Span(topic=codec, count=1500) for codec in CODECS]
        received = await asyncio.to_thread(JAVA_3_9.consume, kafka.address, "j", spans)
        for codec in CODECS:
            got = [record.message for record in received if record.topic == codec]
            assert first_difference(messages, got) is None, codec
    finally:
        await asyncio.to_thread(kafka.stop)


@pytest.mark.java
def test_batches_are_byte_for_byte_javas() -> None:
    kafka = KafkaRecords(java_oracle_for("records"))
    draws = random.Random(5)
    for _ in range(50):
        batch = Batch("t", 0, codec=Codec.NONE, limit_bytes=1 << 24, ratio=1.0, now_ms=0)
        records = []
        for offset in range(draws.randrange(1, 200)):
            key = draws.choice([None, b"", draws.randbytes(draws.randrange(200))])
            value = draws.choice([None, b"", draws.randbytes(draws.randrange(70_000 if offset == 3 else 300))])
            headers = tuple(("h" * draws.randrange(4), draws.choice([None, b"x"])) for _ in range(draws.randrange(3)))
            timestamp = 1_600_000_000_000 + draws.randrange(-(10**7), 10**7)
            delivery = Delivery("t", timestamp, 0, 0, None)
            assert batch.try_append(PendingRecord(None, key, value, encode_headers(headers), 1 << 20, delivery))
            records.append(Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers))
        batch.close(None)
        batch.set_producer_state(77, 3, 12345)
        java = kafka.build(records, producer_id=77, producer_epoch=3, base_sequence=12345)
        assert batch.to_bytes() == java


@pytest.mark.java
@pytest.mark.parametrize("partitions", [1, 3, 16, 2**31 - 1])
def test_keys_go_where_java_puts_them(partitions: int) -> None:
    draws = random.Random(partitions)
    keys = [draws.randbytes(size) for size in range(40) for _ in range(20)]
    payload = struct.pack(">i", partitions) + b"".join(struct.pack(">i", len(key)) + key for key in keys)
    java = struct.unpack(f">{len(keys)}i", java_oracle_for("partitions").call("Partitions.ofKeys", payload))
    assert tuple(partition_for_key(key, partitions) for key in keys) == java
