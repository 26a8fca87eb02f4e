"""Fault: topics were made, changed and deleted without a line that says by whom.

Each change by a request has its line at info, with the principal, the address, old and new values.
"""

import logging
import re
from pathlib import Path

import pytest
from stepdown.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from stepdown.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from stepdown.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest
from support.admin import create, write
from support.client import RawClient
from support.running import running_broker

BY = "by User:ANONYMOUS at 127.0.0.1"


def lines(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [line.getMessage() for line in caplog.records if text in line.getMessage()]


async def change(client: RawClient, kind: int, name: str, **texts: str) -> None:
    configs = tuple(AlterableConfig(name=key.replace("_", "."), value=text) for key, text in texts.items())
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    (answer,) = (await client.send(AlterConfigsRequest(resources=(resource,)), 1)).responses
    assert answer.error_code == 0, answer


async def test_what_requests_change_is_said_with_who_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with (
        running_broker(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "orders", configs={"retention.ms": "5"})
        assert lines(caplog, "is created") == [
            f"topic orders is created {BY}: 1 partition, settings {{'retention.ms': '5'}}"
        ]
        await change(client, 2, "orders", segment_ms="7", retention_ms="6")
        await change(client, 2, "orders", segment_ms="7")
        assert lines(caplog, "settings of topic") == [
            f"settings of topic orders are changed {BY}: retention.ms from 5 to 6, segment.ms from unset to 7",
            f"settings of topic orders are changed {BY}: retention.ms from 6 to unset",
        ]
        await change(client, 4, "", log_retention_ms="8")
        assert lines(caplog, "settings of all brokers") == [
            f"settings of all brokers are changed {BY}: log.retention.ms from unset to 8"
        ]
        topics = (CreatePartitionsTopic(name="orders", count=2, assignments=None),)
        await client.send(CreatePartitionsRequest(topics=topics, timeout_ms=1000), 2)
        assert lines(caplog, "is given") == [f"topic orders is given 2 partitions {BY}"]
        await write(client, "orders")
        partitions = (DeleteRecordsPartition(partition_index=0, offset=2),)
        records = (DeleteRecordsTopic(name="orders", partitions=partitions),)
        await client.send(DeleteRecordsRequest(topics=records, timeout_ms=1000), 1)
        assert lines(caplog, "records below") == [f"orders-0: records below offset 2 are deleted {BY}"]
        await client.send(DeleteTopicsRequest(topic_names=("orders",), timeout_ms=1000), 3)
        assert lines(caplog, "topic orders is deleted") == [f"topic orders is deleted {BY}"]
        first, second = lines(caplog, "deletes all of it")
        assert re.fullmatch(r"orders-0: deletes all of it, offsets 2 to 2, \d+ bytes: the topic is deleted", first)
        assert second == "orders-1: deletes all of it, offsets 0 to -1, 0 bytes: the topic is deleted"


async def test_no_line_shows_a_password(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with (
        running_broker(tmp_path) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await change(client, 4, str(broker.cluster.node_id), ssl_key_password="hunter2")
        (line,) = lines(caplog, "settings of broker")
        assert "ssl.key.password from unset to [hidden]" in line
        assert not lines(caplog, "hunter2")
