"""Real clients as members of a group: each reads so many records, commits just those, and leaves.

Payload of `GroupClient.read`: properties (int32 count, string pairs), topic, int32 records, int32 milliseconds. The
answer is int32 partition and int64 offset of each record.
"""

import asyncio
import json
import os
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiokafka
import confluent_kafka
import kafka

from .clients_java import properties
from .clients_raw import Reader, string
from .deadline import DEADLINE_S
from .java_oracle import java_oracle_for
from .old_packages import old_package

POLL_MS = 200
Place = tuple[int, int]


class Member(Protocol):
    """`reads` returns (partition, offset) of `count` records, or of those that came in time."""

    @property
    def name(self) -> str: ...
    def reads(self, address: str, group: str, topic: str, count: int) -> list[Place]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPythonMember:
    """kafka-python; below 0.9 there are no groups of members, so it assigns itself everything and commits."""

    name: str
    api_version: tuple[int, ...] | None = None

    def reads(self, address: str, group: str, topic: str, count: int) -> list[Place]:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=address,
            group_id=group,
            api_version=self.api_version,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
        )
        try:
            if self.api_version is not None and self.api_version < (0, 9):
                partitions = consumer.partitions_for_topic(topic)
                consumer.assign([kafka.TopicPartition(topic, each) for each in partitions])
            else:
                consumer.subscribe([topic])
            found = self._collect(consumer, count)
            consumer.commit(
                {
                    kafka.TopicPartition(topic, partition): kafka.OffsetAndMetadata(offset, "", -1)
                    for partition, offset in next_offsets(found).items()
                }
            )
            return found
        finally:
            consumer.close()

    def _collect(self, consumer: Any, count: int) -> list[Place]:
        """Poll with all the time that is left.

        A poll of kafka-python 3.0.12 that ends between JoinGroup and SyncGroup never takes its assignment up.
        """
        found: list[Place] = []
        end = time.monotonic() + DEADLINE_S
        while len(found) < count and (left_s := end - time.monotonic()) > 0:
            for records in consumer.poll(timeout_ms=int(left_s * 1000), max_records=count - len(found)).values():
                found += [(record.partition, record.offset) for record in records]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AioKafkaMember:
    """aiokafka."""

    name: str

    def reads(self, address: str, group: str, topic: str, count: int) -> list[Place]:
        return asyncio.run(self._reads(address, group, topic, count))

    async def _reads(self, address: str, group: str, topic: str, count: int) -> list[Place]:
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
        )
        found: list[Place] = []
        async with consumer:
            end = time.monotonic() + DEADLINE_S
            while len(found) < count and time.monotonic() < end:
                batches = await consumer.getmany(timeout_ms=POLL_MS, max_records=count - len(found))
                for records in batches.values():
                    found += [(record.partition, record.offset) for record in records]
            await consumer.commit(
                {aiokafka.TopicPartition(topic, partition): at for partition, at in next_offsets(found).items()}
            )
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfluentMember:
    """librdkafka, with the classic or the consumer protocol."""

    name: str
    protocol: str = "classic"

    def reads(self, address: str, group: str, topic: str, count: int) -> list[Place]:
        settings = {
            "bootstrap.servers": address,
            "group.id": group,
            "group.protocol": self.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
        }
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe([topic])
        found: list[Place] = []
        end = time.monotonic() + DEADLINE_S
        try:
            while len(found) < count and time.monotonic() < end:
                messages = consumer.consume(count - len(found), POLL_MS / 1000)
                found += [(each.partition(), each.offset()) for each in messages if each.error() is None]
            offsets = [confluent_kafka.TopicPartition(topic, *at) for at in next_offsets(found).items()]
            consumer.commit(offsets=offsets, asynchronous=False)
        finally:
            consumer.close()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OldKafkaPythonMember:
    """Another version of kafka-python, in a process of its own."""

    name: str
    version: str

    def reads(self, address: str, group: str, topic: str, count: int) -> list[Place]:
        script = Path(__file__).with_name("kafka_python_reader.py")  # -P: its folder has a `kafka` of its own
        done = subprocess.run(
            [sys.executable, "-P", str(script), address, group, topic, str(count), str(DEADLINE_S)],
            env=os.environ | {"PYTHONPATH": str(old_package(f"kafka-python=={self.version}"))},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S + 20,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [(partition, offset) for partition, offset in json.loads(done.stdout)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaMember:
    """A version of kafka-clients in a JVM of its own; `protocol` for those that know the consumer protocol."""

    name: str
    version: str
    protocol: str | None = None

    def reads(self, address: str, group: str, topic: str, count: int) -> list[Place]:
        settings = {
            "bootstrap.servers": address,
            "group.id": group,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "fetch.max.wait.ms": "50",
        }
        if self.protocol is not None:
            settings["group.protocol"] = self.protocol
        payload = properties(settings) + string(topic) + struct.pack(">ii", count, int(DEADLINE_S * 1000))
        oracle = java_oracle_for("groups", f"org.apache.kafka:kafka-clients:{self.version}")
        reader = Reader(oracle.call("GroupClient.read", payload, timeout_s=DEADLINE_S + 20))
        found = []
        while reader.at < len(reader.data):
            found.append((reader.take("i"), reader.take("q")))
        return found


def next_offsets(found: list[Place]) -> dict[int, int]:
    """Where each partition goes on."""
    return {partition: offset + 1 for partition, offset in sorted(found)}


PYTHON_MEMBERS: tuple[Member, ...] = (
    KafkaPythonMember(name="kafka-python"),
    KafkaPythonMember(name="kafka-python-at-0.8.1", api_version=(0, 8, 1)),
    KafkaPythonMember(name="kafka-python-at-0.8.2", api_version=(0, 8, 2)),
    KafkaPythonMember(name="kafka-python-at-0.9", api_version=(0, 9)),
    KafkaPythonMember(name="kafka-python-at-0.10.1", api_version=(0, 10, 1)),
    AioKafkaMember(name="aiokafka"),
    ConfluentMember(name="confluent"),
    ConfluentMember(name="confluent-consumer-protocol", protocol="consumer"),
)
OLD_PYTHON_MEMBERS: tuple[Member, ...] = (OldKafkaPythonMember(name="kafka-python-1.4.7", version="1.4.7"),)
"""Its vendored `six` needs Python before 3.12."""
JAVA_MEMBERS: tuple[Member, ...] = (
    *(JavaMember(name=f"java-{version}", version=version) for version in ("0.9.0.1", "0.10.2.2", "1.1.1", "2.8.2")),
    JavaMember(name="java-3.9.1", version="3.9.1"),
    JavaMember(name="java-4.4.0", version="4.4.0"),
    JavaMember(name="java-4.4.0-consumer-protocol", version="4.4.0", protocol="consumer"),
)
