"""Apache Kafka on 127.0.0.1, started from Maven jars: 3.9.1 with both KRaft roles in one process, 1.1.1 with ZooKeeper.

A folder holds `server.properties`, `data/` (log.dirs: partitions and nothing else, so that it can be copied to another
broker), `kafka.out` and, by kind, `metadata/` (the KRaft log) or `zookeeper/`.
"""

import base64
import os
import shutil
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...protocol.messages.metadata import MetadataRequest
from ..failures import BenchFailure
from .admin_connection import Connection
from .maven import STDERR_LOG, MavenStore
from .ports import free_port
from .process import Process, Restartable, text_of, wait_until
from .tls_listener import tls_listener
from .virtual_network import LOOPBACK, Network

KAFKA_3_9 = "org.apache.kafka:kafka_2.13:3.9.1"
KAFKA_1_1 = "org.apache.kafka:kafka_2.12:1.1.1"
START_TIMEOUT_S = 90.0
CLUSTER_ID = "c3RlcGRvd24tdGVzdHMtMQ"

SCRIPT_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""What kafka-server-start.sh gives the JVM."""

ONE_BROKER = {
    "log.retention.ms": "-1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "auto.create.topics.enable": "false",
}
KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
    "inter.broker.listener.name": "PLAINTEXT",
}

LOG4J = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.SimpleLayout
"""
"""Old brokers log some things through log4j itself, among them why they end."""


def join_paths(class_path: Sequence[Path]) -> str:
    """A class path as one argument of `-cp`."""
    return os.pathsep.join(map(str, class_path))


def java(class_path: Sequence[Path], main: str, *arguments: str, heap: str, options: Sequence[str] = ()) -> list[str]:
    """The command line that runs `main`."""
    return ["java", *options, f"-Xmx{heap}", "-cp", join_paths(class_path), main, *arguments]


class KafkaServer(Restartable):
    """Kafka 3.9.1 over `folder`; started again on the same folder it serves the same data."""

    name = "kafka"
    http = ""
    version = "3.9.1"

    def __init__(
        self,
        folder: Path,
        store: MavenStore,
        *,
        advertised: str | None = None,
        properties: Mapping[str, str] | None = None,
        heap: str = "1g",
        jvm_options: Sequence[str] = SCRIPT_OPTIONS,
        network: Network = LOOPBACK,
        certificates: str = "",
    ) -> None:
        super().__init__(folder, "kafka.out")
        self.tls = tls_listener(certificates, network)
        self.address = f"{network.host}:{free_port()}"
        self._network = network
        self.heap = heap
        self._store = store
        self._controller = f"127.0.0.1:{free_port()}"
        self._advertised = advertised
        self._properties = dict(properties or {})
        self._jvm_options = jvm_options

    def start(self) -> None:
        """Starts, and returns when the broker is unfenced and answers. Raises: BenchFailure, JarsMissing."""
        if self._process is not None:
            raise BenchFailure("Kafka is running")
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "server.properties"
        settings.write_text(_properties_text(self._settings()))
        command = java(self._jars(), "kafka.Kafka", str(settings), heap=self.heap, options=self._options())
        try:
            self._start_others()
            self._process = Process([*self._network.enter, *command], self.output)
            wait_until(self._is_ready, "Kafka answers", timeout_s=START_TIMEOUT_S)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stops with SIGTERM, as an operator does: logs are flushed and marked clean."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()
        self._stop_others()

    def kill(self) -> None:
        """Stops with SIGKILL; nothing is flushed."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        self._stop_others()

    def _settings(self) -> dict[str, str]:
        own = {
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self._advertised or self.address}",
            "controller.quorum.voters": f"1@{self._controller}",
            "log.dirs": str(self.log_dir),
            "metadata.log.dir": str(self.folder / "metadata"),
        }
        if self.tls is not None:
            own["listeners"] += f",{self.tls.listener}"
            own["advertised.listeners"] += f",{self.tls.listener}"
            own |= self.tls.settings
        return ONE_BROKER | KRAFT | own | self._properties

    def _options(self) -> list[str]:
        return [*self._jvm_options, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]

    def _jars(self) -> tuple[Path, ...]:
        return self._store.class_path(KAFKA_3_9, STDERR_LOG)

    def _start_others(self) -> None:
        """Does what `kafka-storage format` does, which takes a JVM of its own only once per machine."""
        for folder in (self.folder / "metadata", self.log_dir):
            if not (folder / "meta.properties").exists():
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(_bootstrap_checkpoint(self._store), folder / "bootstrap.checkpoint")
                (folder / "meta.properties").write_text(
                    f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={self._settings()['node.id']}\n"
                    f"directory.id={_uuid()}\n"
                )

    def _stop_others(self) -> None:
        """KRaft's controller lives in the same process."""

    def _is_ready(self) -> bool:
        if self._running().has_ended:
            raise BenchFailure(f"Kafka ended while starting: {self._running().log_tail}")
        with suppress(OSError, BenchFailure), Connection(self.address, timeout_s=5) as connection:
            return self._is_in_own_metadata(connection)
        return False

    def _is_in_own_metadata(self, connection: Connection) -> bool:
        """Whether the one broker is in its own metadata. Asks by v1, in which an empty list means none (v0: all)."""
        return bool(connection.call(MetadataRequest(topics=()), 1).brokers)


class OldKafkaServer(KafkaServer):
    """Kafka with a ZooKeeper of its own; 1.1.1, the last before KIP-283, unless told otherwise."""

    version = "1.1.1"

    def __init__(
        self,
        folder: Path,
        store: MavenStore,
        *,
        properties: Mapping[str, str] | None = None,
        heap: str = "1g",
        jvm_options: Sequence[str] = SCRIPT_OPTIONS,
    ) -> None:
        super().__init__(folder, store, properties=properties, heap=heap, jvm_options=jvm_options)
        self._zookeeper: Process | None = None
        self._zookeeper_port = free_port()

    def _settings(self) -> dict[str, str]:
        own = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://{self.address}",
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
            "log.dirs": str(self.log_dir),
        }
        return ONE_BROKER | own | self._properties

    def _jars(self) -> tuple[Path, ...]:
        return self._store.class_path(KAFKA_1_1, STDERR_LOG, "log4j:log4j:1.2.17")

    def _options(self) -> list[str]:
        return [*super()._options(), f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}"]

    def _start_others(self) -> None:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        (self.folder / "log4j.properties").write_text(LOG4J)
        settings = self.folder / "zookeeper.properties"
        pairs = {
            "dataDir": str(self.folder / "zookeeper"),
            "clientPort": str(self._zookeeper_port),
            "clientPortAddress": "127.0.0.1",
        }
        settings.write_text(_properties_text(pairs))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = java(self._jars(), main, str(settings), heap="128m", options=self._options())
        self._zookeeper = Process(command, self.folder / "zookeeper.out")
        wait_until(self._zookeeper_accepts_connections, "ZooKeeper listens")

    def _zookeeper_accepts_connections(self) -> bool:
        if self._zookeeper is None or self._zookeeper.has_ended:
            raise BenchFailure(f"ZooKeeper ended while starting: {text_of(self.folder / 'zookeeper.out')}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._zookeeper_port), timeout=5):
            return True
        return False

    def _stop_others(self) -> None:
        zookeeper, self._zookeeper = self._zookeeper, None
        if zookeeper is not None:
            zookeeper.kill()


def _properties_text(pairs: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in pairs.items())


def _uuid() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)


def _bootstrap_checkpoint(store: MavenStore) -> Path:
    """The file that StorageTool writes into a formatted folder; it depends on Kafka's version alone."""
    kept = store.folder / "formatted-3.9.1" / "bootstrap.checkpoint"
    jars = store.class_path(KAFKA_3_9, STDERR_LOG)
    with store.lock("format"):
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            settings = kept.parent / "format.properties"
            own = {"controller.quorum.voters": "1@127.0.0.1:1", "log.dirs": str(kept.parent)}
            listeners = {"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:1"}
            settings.write_text(_properties_text(ONE_BROKER | KRAFT | own | listeners))
            command = java(
                jars, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings), heap="256m"
            )
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != 0:
                raise BenchFailure(f"kafka-storage format failed: {done.stdout}{done.stderr}")
    return kept
