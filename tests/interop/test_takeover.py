"""A log directory of Kafka 3.9.1, its metadata log inside as by default, is opened with all its settings."""

import asyncio
from pathlib import Path

import pytest
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from support.admin import new_topic
from support.client import RawClient
from support.kafka import ApacheKafka
from support.running import running_broker

pytestmark = pytest.mark.java


async def _prepare(address: str) -> int:
    host, _, port = address.rpartition(":")
    async with await RawClient.connect(host, int(port)) as client:
        topics = (
            new_topic("orders", 3, configs={"retention.ms": "77", "cleanup.policy": "compact"}),
            new_topic("plain"),
        )
        response = await client.send(CreateTopicsRequest(topics=topics), 7)
        assert [topic.error_code for topic in response.topics] == [0, 0]
        for kind, name, key, value in (
            (2, "orders", "retention.ms", "78"),
            (4, "", "log.roll.ms", "123456"),
            (4, "1", "log.segment.bytes", "1000000"),
        ):
            change = AlterableConfig(name=key, config_operation=0, value=value)
            resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=(change,))
            altered = await client.send(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
            assert altered.responses[0].error_code == 0
        user = (EntityData(entity_type="user", entity_name="a"),)
        entry = EntryData(entity=user, ops=(OpData(key="producer_byte_rate", value=1024.0),))
        assert (await client.send(AlterClientQuotasRequest(entries=(entry,)), 1)).entries[0].error_code == 0
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        while (identity := await client.send(request, 4)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            pass  # Kafka is still asking its controller for a block of ids
        assert identity.error_code == 0
        return int(identity.producer_id)


async def test_settings_quotas_and_producer_ids_are_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "kafka"
    data = folder / "data"

    def with_kafka() -> int:
        with ApacheKafka(folder, properties={"metadata.log.dir": str(data)}) as kafka:
            return asyncio.run(_prepare(kafka.address))

    producer_id = await asyncio.to_thread(with_kafka)
    for _ in range(2):
        async with running_broker(data) as broker:
            orders = broker.cluster.topics["orders"]
            assert orders.overrides == {"retention.ms": "78", "cleanup.policy": "compact"}
            assert (len(orders.partitions), orders.topic_id) == (3, orders.partitions[0].log.topic_id)
            plain = broker.cluster.topics["plain"].settings
            assert (plain.segment_ms, plain.segment_bytes) == (123456, 1000000)
            assert broker.topics.store.state.client_quotas == {(("user", "a"),): {"producer_byte_rate": 1024.0}}
            assert broker.cluster.next_producer_id() > producer_id
