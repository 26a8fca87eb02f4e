"""Brokers of old: Kafka 0.8.2 to 3.9 over ZooKeeper, from Maven jars, to leave log directories as they left them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from stepdown.bench.servers.admin_connection import Connection
from stepdown.bench.servers.kafka import KAFKA_1_1, KAFKA_3_9, OldKafkaServer, java
from stepdown.bench.servers.maven import STDERR_LOG
from stepdown.protocol.messages.metadata import MetadataRequest

from .clients_raw import API_METADATA, Raw, Reader, request, wait_until
from .deadline import DEADLINE_S
from .java_build import JVM_OPTIONS
from .maven import JARS

# Java 11 and later lack what 0.10 encodes its cluster id with, and SCRAM's messages.
REMOVED_FROM_JAVA = "javax.xml.bind:jaxb-api:2.3.1"
COORDINATES = {
    "0.8.2.2": "org.apache.kafka:kafka_2.11:0.8.2.2",
    "0.10.2.2": "org.apache.kafka:kafka_2.11:0.10.2.2",
    "1.1.1": KAFKA_1_1,
    "2.8.2": "org.apache.kafka:kafka_2.13:2.8.2",
    "3.9.1": KAFKA_3_9,
}
TOOLS_MOVED = {"kafka.admin.TopicCommand": "org.apache.kafka.tools.TopicCommand"}
"""In 3.9.1, whose tools ask the broker."""


class OldKafka(OldKafkaServer):
    """A broker of this version with a ZooKeeper of its own; topics come into being when they are asked for."""

    def __init__(self, folder: Path, version: str, *, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, JARS, properties=properties, heap="256m", jvm_options=JVM_OPTIONS)
        self.version = version
        host, _, port = self.address.partition(":")
        own = {
            "host.name": host,
            "port": port,
            "log.cleaner.dedupe.buffer.size": "4194304",
            "log.cleaner.backoff.ms": "200",
            "log.retention.hours": "1000000",
            "controlled.shutdown.enable": "false",
            "auto.create.topics.enable": "true",
            "message.max.bytes": "1048588",
            "replica.fetch.max.bytes": "1048588",
        }
        self._properties = own | self._properties

    def _settings(self) -> dict[str, str]:
        """What every version takes: 0.8.2 knows no endless log.retention.ms."""
        return {key: value for key, value in super()._settings().items() if key != "log.retention.ms"}

    def __enter__(self) -> "OldKafka":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _options(self) -> list[str]:
        """ZooKeeper has a new snapshot soon, as one that ran for long."""
        return [*super()._options(), "-Dzookeeper.snapCount=100"]

    def create_topic(self, name: str) -> None:
        """Ask for a topic, which makes it, and return when its partition answers."""
        with Raw(self.address) as client:
            wait_until(lambda: _error_of(client, name) == 0, f"{name} has a leader")

    def run_tool(self, main: str, *arguments: str) -> str:
        """What a class of Kafka's command line tools of this version printed, pointed at ZooKeeper."""
        if self.version.startswith("3."):
            return self.run_main(TOOLS_MOVED.get(main, main), *arguments, "--bootstrap-server", self.address)
        return self.run_main(main, *arguments, "--zookeeper", self.zookeeper)

    @property
    def zookeeper(self) -> str:
        """Where its ZooKeeper listens."""
        return f"127.0.0.1:{self._zookeeper_port}"

    def run_main(self, main: str, *words: str) -> str:
        """What a class of this version printed. It has to end with 0."""
        command = java(self._jars(), main, *words, heap="128m", options=self._options())
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _jars(self) -> tuple[Path, ...]:
        tools = ("org.apache.kafka:kafka-tools:3.9.1",) if self.version.startswith("3.") else ()
        logs = (STDERR_LOG, "log4j:log4j:1.2.17", REMOVED_FROM_JAVA)
        return JARS.class_path(COORDINATES[self.version], *tools, *logs)

    def _is_in_own_metadata(self, connection: Connection) -> bool:
        """0.8.2 knows Metadata v0 alone, and tells of no broker before there is a topic; that it answers will do."""
        connection.call(MetadataRequest(topics=()), 0)
        return True


def _error_of(client: Raw, topic: str) -> int:
    """Return the error of a topic's only partition, or of the topic (Metadata v0, which makes the topic)."""
    name = topic.encode()
    frame = request(API_METADATA, 0, (1).to_bytes(4, "big") + len(name).to_bytes(2, "big") + name)
    reader = Reader(client.exchange(frame))
    for _ in range(reader.take("i")):
        reader.take("i"), reader.string(), reader.take("i")
    assert reader.take("i") == 1
    error = reader.take("h")
    reader.string()
    return error if reader.take("i") == 0 else error or reader.take("h")
