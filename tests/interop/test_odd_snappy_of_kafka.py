"""Batches of several xerial streams in a row, or with bytes after one, that Kafka 3.9.1 took and wrote, served by us.

They could not be fetched by old clients, nor looked up by time, nor compacted.
"""

import shutil
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.compression.codecs import compress
from stepdown.protocol.records.kernel.crc import crc32c_over
from stepdown.protocol.records.layout import ATTRIBUTES_OFFSET, RECORD_BATCH_OVERHEAD, Codec
from stepdown.storage.files.file_handle import Buffer
from support.broker import BrokerProcess, broker_under_test
from support.clients_raw import wait_until
from support.fetching import fetch, records
from support.kafka import ApacheKafka

pytestmark = pytest.mark.java

FIRST_VERSION_WITH_IDS = 13
LAST_VERSION = 17
LENGTH_OFFSET, CRC_OFFSET = 8, 17
CONFIGS = {
    "segment.ms": "500",
    "min.cleanable.dirty.ratio": "0.01",
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": str(1 << 62),
}
Found = list[tuple[int, int, bytes | None, bytes | None]]


def crc_of(data: bytes) -> int:
    return crc32c_over(data, 0, len(data))


def with_body(plain: bytes, body: bytes) -> bytes:
    """An uncompressed batch with this snappy stream in the place of its records."""
    head = bytearray(plain[:RECORD_BATCH_OVERHEAD])
    struct.pack_into(">i", head, LENGTH_OFFSET, len(head) + len(body) - 12)
    head[ATTRIBUTES_OFFSET + 1] |= Codec.SNAPPY
    struct.pack_into(">I", head, CRC_OFFSET, crc_of(bytes(head[ATTRIBUTES_OFFSET:]) + body))
    return bytes(head) + body


def odd_batches() -> Iterator[bytes]:
    for number, tail in enumerate((b"", b"\0", b"\1\2\3")):
        plain = build_batch(records(30, first=10 * number))
        data = plain[RECORD_BATCH_OVERHEAD:]
        streams = [compress(Codec.SNAPPY, part, magic=2) for part in (data[:700], data[700:701], b"", data[701:])]
        yield with_body(plain, b"".join(streams) + tail)


def produce(client: Connection, batch: bytes) -> None:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])
    answer = client.call(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 7)
    assert answer.responses[0].partition_responses[0].error_code == 0


def read(client: Connection, version: int) -> Found:
    """Offset, time, key and value of each record, from Fetch of that version."""
    found: Found = []
    offset, end = 0, offset_at(client, -1)[0]
    while offset < end:
        request = fetch("t", offset)
        if version >= FIRST_VERSION_WITH_IDS:
            known = client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 10)
            request = replace(request, topics=[replace(request.topics[0], topic_id=known.topics[0].topic_id)])
        answer = client.call(request, version).responses[0].partitions[0]
        assert answer.error_code == 0
        for batch in iter_batches(memoryview(bytes(answer.records))):
            found += [
                (each.offset, each.timestamp if version >= 2 else -1, each.key, each.value)
                for each in batch.records()
                if each.offset >= offset
            ]
            offset = batch.last_offset + 1
    return [(at, time, _bytes(key), _bytes(value)) for at, time, key, value in found]


def _bytes(value: Buffer | None) -> bytes | None:
    return None if value is None else bytes(value)


def offset_at(client: Connection, timestamp: int) -> tuple[int, int]:
    """The offset and time that ListOffsets gives for a time; -1: the log's end."""
    topic = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
    part = client.call(ListOffsetsRequest(replica_id=-1, topics=[topic]), 1).topics[0].partitions[0]
    return part.offset, part.timestamp


def ask(broker: BrokerProcess) -> tuple[dict[int, Found], list[tuple[int, int]]]:
    """What each version of Fetch reads, and what is found by time."""
    with Connection(broker.address) as client:
        by_version = {version: read(client, version) for version in range(LAST_VERSION + 1)}
        return by_version, [offset_at(client, 1_000 + after) for after in range(0, 60, 3)]


def test_what_kafka_wrote_is_read_looked_up_and_compacted(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path / "kafka")
    with kafka:
        kafka.create_topic("t", configs=CONFIGS)
        with Connection(kafka.address) as client:
            for batch in odd_batches():
                produce(client, batch)
        wanted = ask(kafka)
    shutil.copytree(kafka.log_dir, tmp_path / "ours" / "data")
    metadata = "__cluster_metadata-0"
    shutil.copytree(kafka.folder / "metadata" / metadata, tmp_path / "ours" / "data" / metadata)
    ours = broker_under_test(tmp_path / "ours", properties={"log.cleaner.backoff.ms": "100"})
    ours.start()
    try:
        assert ask(ours) == wanted
        latest = {key: (at, time, key, value) for at, time, key, value in wanted[0][LAST_VERSION]}
        with Connection(ours.address) as client:
            change = AlterableConfig(name="min.compaction.lag.ms", value="0")
            resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=(change,))
            answer = client.call(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
            assert answer.responses[0].error_code == 0
            produce(client, build_batch(records(1, first=900)))
            wait_until(lambda: len(read(client, 11)) == len(latest) + 1, "the log is compacted")
            assert read(client, 11)[:-1] == sorted(latest.values())
    finally:
        ours.kill()
