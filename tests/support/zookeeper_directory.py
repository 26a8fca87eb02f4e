"""A log directory as a real broker with ZooKeeper left it: topics of all policies, commits, an open transaction."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepdown.bench.servers.admin_connection import Connection
from stepdown.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record

from .clients_raw import wait_until
from .kafka_old import OldKafka

TOPIC_TOOL, CONFIG_TOOL = "kafka.admin.TopicCommand", "kafka.admin.ConfigCommand"
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "compacted": {"cleanup.policy": "compact", "segment.bytes": "20000"},
    "kept-for-ever": {"retention.ms": "-1", "segment.bytes": "20000"},
    "short-lived": {"retention.ms": "86400000", "segment.bytes": "20000"},
    "both": {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.9", "segment.bytes": "20000"},
    "default": {},
}
"""What each topic is made with."""
PARTITIONS = 2
SETS, RECORDS_A_SET = 40, 20
KEYS = 7
GROUPS = ("billing", "reports", "audit")
TRANSACTIONAL_ID = "transfer"
PRODUCE_VERSIONS = {"0.10.2.2": (2, 1)}
"""Of the request and the records; newer brokers have 3 and 2."""


@dataclass(slots=True, kw_only=True)
class ZooKeeperDirectory:
    """What was left: what Kafka's tools said of the topics, the end of each partition, what groups had committed."""

    folder: Path
    version: str
    topics_text: str = ""
    configs_text: str = ""
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    committed: dict[tuple[str, str, int], int] = field(default_factory=dict)

    @property
    def log_dir(self) -> Path:
        return self.folder / "data"

    @property
    def has_transactions(self) -> bool:
        return self.version not in PRODUCE_VERSIONS


def leave_directory(
    folder: Path, version: str, more: Callable[[OldKafka], object] = lambda old: None
) -> ZooKeeperDirectory:
    """Runs a broker of this version and stops it in order, after `more` was done with it."""
    left = ZooKeeperDirectory(folder=folder, version=version)
    properties = {
        "offsets.topic.num.partitions": "50",
        "transaction.state.log.num.partitions": "50",
        "log.cleaner.enable": "false",  # all records are there still when it stops
        "log.segment.bytes": "20000",
    }
    with OldKafka(folder, version, properties=properties) as old:
        for name, configs in SETTINGS.items():
            _create(old, name, configs)
        with Connection(old.address) as connection:
            for name in SETTINGS:
                for partition in range(PARTITIONS):
                    _fill(connection, left, name, partition)
            _commit(connection, left)
            if left.has_transactions:
                _open_transaction(connection)
            for name in SETTINGS:
                for partition in range(PARTITIONS):
                    left.ends[name, partition] = _end(connection, name, partition)
        left.topics_text = old.run_tool(TOPIC_TOOL, "--describe")
        left.configs_text = old.run_tool(CONFIG_TOOL, "--describe", "--entity-type", "topics")
        more(old)
    return left


def _create(old: OldKafka, name: str, configs: Mapping[str, str]) -> None:
    settings = [word for key, value in configs.items() for word in ("--config", f"{key}={value}")]
    layout = ("--partitions", str(PARTITIONS), "--replication-factor", "1")
    old.run_tool(TOPIC_TOOL, "--create", "--topic", name, *layout, *settings)


def _fill(connection: Connection, left: ZooKeeperDirectory, name: str, partition: int) -> None:
    version, magic = PRODUCE_VERSIONS.get(left.version, (3, 2))
    for number in range(SETS):
        records = [
            Record(offset=at, timestamp=int(time.time() * 1000), key=b"k%d" % ((number + at) % KEYS), value=b"v" * 100)
            for at in range(RECORDS_A_SET)
        ]
        _produce(connection, name, partition, build_batch(records, magic=magic), version)


def _produce(
    connection: Connection, name: str, partition: int, data: bytes, version: int, transactional_id: str | None = None
) -> None:
    written = PartitionProduceData(index=partition, records=memoryview(data))
    topics = (TopicProduceData(name=name, partition_data=(written,)),)
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics, transactional_id=transactional_id)
    (topic,) = connection.call(request, version).responses
    assert topic.partition_responses[0].error_code == 0, (name, topic)


def _find(connection: Connection, key: str, key_type: int = 0) -> None:
    request = FindCoordinatorRequest(key=key, key_type=key_type)
    wait_until(lambda: connection.call(request, min(key_type, 1)).error_code == 0, f"{key} has a coordinator")


def _commit(connection: Connection, left: ZooKeeperDirectory) -> None:
    for group in GROUPS:
        _find(connection, group)
        for number, name in enumerate(SETTINGS):
            committed = [
                OffsetCommitRequestPartition(partition_index=each, committed_offset=100 * number + each)
                for each in range(PARTITIONS)
            ]
            topics = (OffsetCommitRequestTopic(name=name, partitions=tuple(committed)),)
            request = OffsetCommitRequest(group_id=group, topics=topics)
            wait_until(lambda request=request: _is_committed(connection, request), f"{group} commits")  # type: ignore[misc]
            for each in committed:
                left.committed[group, name, each.partition_index] = each.committed_offset


def _is_committed(connection: Connection, request: OffsetCommitRequest) -> bool:
    (topic,) = connection.call(request, 2).topics
    return all(each.error_code == 0 for each in topic.partitions)


def _open_transaction(connection: Connection) -> None:
    _find(connection, TRANSACTIONAL_ID, 1)
    begun: list[Any] = []

    def begin() -> bool:
        request = InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=900_000)
        begun.append(connection.call(request, 0))
        return bool(begun[-1].error_code == 0)

    wait_until(begin, "a producer id is given")
    producer_id, epoch = begun[-1].producer_id, begun[-1].producer_epoch
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TRANSACTIONAL_ID,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="default", partitions=(1,))],
    )
    (topic,) = connection.call(request, 0).results_by_topic_v3_and_below
    assert topic.results_by_partition[0].partition_error_code == 0
    records = [Record(offset=0, timestamp=int(time.time() * 1000), key=b"open", value=b"open")]
    batch = build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
    _produce(connection, "default", 1, batch, 3, TRANSACTIONAL_ID)


def _end(connection: Connection, name: str, partition: int) -> int:
    asked = ListOffsetsPartition(partition_index=partition, timestamp=-1)
    request = ListOffsetsRequest(topics=(ListOffsetsTopic(name=name, partitions=(asked,)),))
    (topic,) = connection.call(request, 1).topics
    return int(topic.partitions[0].offset)
