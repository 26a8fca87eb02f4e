"""A quota of 1 byte a second made librdkafka write one record of 3 MB again and again: the answer to its Produce could
not be encoded, after the record had been appended.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from support.broker import Stepdown
from support.client import RawClient
from support.deadline import DEADLINE_S

TOPIC, CLIENT = "large", "greedy"
RECORD = bytes(3_000_000)
MOST_BYTES = 8_000_000
RATES = {"producer_byte_rate": 1.0, "consumer_byte_rate": 1.0}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Stepdown]:
    with Stepdown(tmp_path, properties={"message.max.bytes": str(MOST_BYTES)}) as running:
        running.create_topic(TOPIC)
        yield running


async def limit(address: str) -> None:
    """Gives the client the smallest quotas that anybody sets."""
    host, port = address.split(":")
    entry = EntryData(
        entity=[EntityData(entity_type="client-id", entity_name=CLIENT)],
        ops=[OpData(key=key, value=rate) for key, rate in RATES.items()],
    )
    async with await RawClient.connect(host, int(port)) as client:
        answer = await client.send(AlterClientQuotasRequest(entries=[entry]), 1)
        assert [each.error_code for each in answer.entries] == [0]


async def test_a_record_above_a_quota_is_written_once_and_read(broker: Stepdown) -> None:
    await limit(broker.address)
    common = {"bootstrap.servers": broker.address, "client.id": CLIENT}
    reports = []
    producer = Producer(common | {"message.max.bytes": MOST_BYTES, "enable.idempotence": False, "retries": 1_000})
    producer.produce(TOPIC, RECORD, on_delivery=lambda error, message: reports.append((error, message.offset())))
    assert producer.flush(DEADLINE_S) == 0
    assert reports == [(None, 0)]
    settings = {"group.id": CLIENT, "fetch.message.max.bytes": MOST_BYTES, "enable.auto.commit": False}
    consumer = Consumer(common | settings)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    message = consumer.poll(DEADLINE_S)
    assert message is not None
    assert message.error() is None
    assert message.value() == RECORD
    consumer.close()
    unlimited = Consumer(common | settings | {"client.id": "unlimited"})
    assert unlimited.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=DEADLINE_S) == (0, 1)
    unlimited.close()
