"""Brokers of old: Kafka 0.8.2 to 2.8 over ZooKeeper, from Maven jars, to leave log directories as they left them.

One ZooKeeper and one broker, each a process on 127.0.0.1. `folder/data` is the broker's log directory. These brokers
know no port 0, so a free one is picked just before.
"""

import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .clients_raw import API_METADATA, Raw, Reader, request, wait_until
from .java_build import java
from .kafka import free_port
from .maven import class_path

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
LOGGING = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.SimpleLayout
"""
# Java 11 and later lack what 0.10 encodes its cluster id with.
REMOVED_FROM_JAVA = "javax.xml.bind:jaxb-api:2.3.1"
COORDINATES = {
    "0.8.2.2": "org.apache.kafka:kafka_2.11:0.8.2.2",
    "0.10.2.2": "org.apache.kafka:kafka_2.11:0.10.2.2",
    "1.1.1": "org.apache.kafka:kafka_2.12:1.1.1",
    "2.8.2": "org.apache.kafka:kafka_2.13:2.8.2",
}


class OldKafka:
    """A broker of this version with a ZooKeeper of its own; topics come into being when they are asked for."""

    def __init__(self, folder: Path, version: str, *, properties: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.address = f"127.0.0.1:{free_port()}"
        self._zookeeper_port = free_port()
        self._jars = class_path(COORDINATES[version], REMOVED_FROM_JAVA)
        self._properties = dict(properties or {})
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "OldKafka":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start both, and return when the broker answers Metadata v0."""
        self.log_dir.mkdir(parents=True, exist_ok=True)
        try:
            self._run("org.apache.zookeeper.server.ZooKeeperServerMain", str(self._zookeeper_port), f"{self.folder}/zk")
            wait_until(self._zookeeper_listens, "ZooKeeper listens", timeout_s=START_TIMEOUT_S)
            settings = self.folder / "server.properties"
            settings.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
            self._run("kafka.Kafka", str(settings))
            wait_until(self._answers, "Kafka answers", timeout_s=START_TIMEOUT_S)
        except BaseException:
            self._kill()
            raise

    def stop(self) -> None:
        """Stop the broker as an operator does, then ZooKeeper."""
        if self._processes:
            broker = self._processes[-1]
            broker.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                broker.wait(STOP_TIMEOUT_S)
            self._kill()

    def create_topic(self, name: str) -> None:
        """Ask for a topic, which makes it, and return when its partition answers."""
        with Raw(self.address) as client:
            wait_until(lambda: _error_of(client, name) == 0, f"{name} has a leader")

    def _run(self, main: str, *arguments: str) -> None:
        logging = self.folder / "log4j.properties"
        logging.write_text(LOGGING)
        command = java(self._jars, main, *arguments)
        command[1:1] = [f"-Dlog4j.configuration=file:{logging}", "-Dzookeeper.jmx.log4j.disable=true"]
        with (self.folder / f"{main}.out").open("ab") as out:
            self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def _settings(self) -> dict[str, str]:
        host, _, port = self.address.partition(":")
        return {
            "broker.id": "0",
            "host.name": host,
            "port": port,
            "listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": str(self.log_dir),
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
            "log.cleaner.dedupe.buffer.size": "4194304",
            "log.cleaner.backoff.ms": "200",
            "log.retention.hours": "1000000",
            "controlled.shutdown.enable": "false",
            "offsets.topic.replication.factor": "1",
            "message.max.bytes": "1048588",
            "replica.fetch.max.bytes": "1048588",
        } | self._properties

    def _zookeeper_listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._zookeeper_port), timeout=5):
            return True
        return False

    def _answers(self) -> bool:
        assert self._processes[-1].poll() is None, f"Kafka ended while starting: {self._output()}"
        with suppress(OSError, EOFError), Raw(self.address) as client:
            return bool(client.exchange(request(API_METADATA, 0, (0).to_bytes(4, "big"))))
        return False

    def _output(self) -> str:
        return (self.folder / "kafka.Kafka.out").read_text(errors="replace")[-3000:]

    def _kill(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        self._processes.clear()


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
