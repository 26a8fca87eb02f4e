"""Apache Kafka itself on 127.0.0.1, started from Maven jars: the other side of interop and differential tests.

`ApacheKafka` is one process with both KRaft roles. Its folder holds `server.properties`, `metadata/` (the KRaft log),
`data/` (log.dirs: partitions and nothing else, so that it can be copied to another broker) and `kafka.out`.
"""

import base64
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .clients_raw import Raw, create_topic, wait_until
from .java_build import java
from .maven import BUILD, KAFKA_3_9, STDERR_LOG, build_lock, class_path

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 60.0
CLUSTER_ID = "c3RlcGRvd24tdGVzdHMtMQ"

# Small and quick: one broker, tiny internal topics, no rebalance delay, a cleaner that a test need not wait for.
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.backoff.ms": "200",
    "log.retention.ms": "-1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "200",
}


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ApacheKafka:
    """Kafka 3.9.1 over `folder`; started again on the same folder it serves the same data."""

    def __init__(
        self,
        folder: Path,
        *,
        advertised: str | None = None,
        properties: Mapping[str, str] | None = None,
        heap: str = "384m",
    ) -> None:
        self.folder = folder
        self.log_dir = folder / "data"
        self.address = f"127.0.0.1:{free_port()}"
        self._controller = f"127.0.0.1:{free_port()}"
        self._advertised = advertised
        self._properties = dict(properties or {})
        self._heap = heap
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "ApacheKafka":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None, "Kafka is not running"
        return self._process.pid

    def start(self) -> None:
        """Start, and return when the broker is unfenced and answers."""
        assert self._process is None, "Kafka is running"
        jars = class_path(KAFKA_3_9, log=STDERR_LOG)
        self._format()
        settings = self.folder / "server.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in self._settings().items()))
        command = java(jars, "kafka.Kafka", str(settings), heap=self._heap)
        command.insert(1, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        with (self.folder / "kafka.out").open("ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop with SIGTERM, as an operator does: logs are flushed and marked clean."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"Kafka did not stop within {STOP_TIMEOUT_S} s: {self._output()}") from None

    def kill(self) -> None:
        """Stop with SIGKILL; nothing is flushed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic and return when each partition has a leader that answers."""
        create_topic(self.address, name, partitions=partitions, configs=configs)

    def _settings(self) -> dict[str, str]:
        own = {
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self._advertised or self.address}",
            "controller.quorum.voters": f"1@{self._controller}",
            "log.dirs": str(self.log_dir),
            "metadata.log.dir": str(self.folder / "metadata"),
        }
        return PROPERTIES | own | self._properties

    def _format(self) -> None:
        """Do what `kafka-storage format` does, which takes a JVM of its own only once per machine."""
        for folder in (self.folder / "metadata", self.log_dir):
            if not (folder / "meta.properties").exists():
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(_bootstrap_checkpoint(), folder / "bootstrap.checkpoint")
                (folder / "meta.properties").write_text(
                    f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\ndirectory.id={_uuid()}\n"
                )

    def _wait_until_ready(self) -> None:
        def ready() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, f"Kafka ended while starting: {self._output()}"
            with suppress(OSError, EOFError), Raw(self.address) as client:
                return bool(client.brokers())
            return False

        wait_until(ready, "Kafka answers", timeout_s=START_TIMEOUT_S)

    def _output(self) -> str:
        return (self.folder / "kafka.out").read_text(errors="replace")[-3000:]


def take_over(kafka: ApacheKafka, log_dir: Path, partitions: Sequence[str], *, cleanly: bool = True) -> None:
    """Give a stopped Kafka another broker's files for partitions (`topic-0`) that it has; their topic ids stay Kafka's.

    Without `cleanly` Kafka finds no clean-shutdown mark, so it checks every segment and builds its indexes.
    """
    for partition in partitions:
        target = kafka.log_dir / partition
        metadata = (target / "partition.metadata").read_bytes()
        shutil.rmtree(target)
        shutil.copytree(log_dir / partition, target)
        (target / "partition.metadata").write_bytes(metadata)
    if not cleanly:
        (kafka.log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)


def run_tool(main: str, *arguments: str, timeout_s: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Return what a command line tool of Kafka's broker jar did, e.g. `kafka.tools.DumpLogSegments`."""
    command = java(class_path(KAFKA_3_9), main, *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)


def dump_log_segments(files: Sequence[Path], *options: str) -> str:
    """Return what DumpLogSegments prints; it has to end without an error."""
    done = run_tool("kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _uuid() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)


def _bootstrap_checkpoint() -> Path:
    """Return the file that StorageTool writes into a formatted folder; it depends on Kafka's version alone."""
    kept = BUILD / "formatted-3.9.1" / "bootstrap.checkpoint"
    with build_lock("format"):
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            settings = kept.parent / "format.properties"
            pairs = {**PROPERTIES, "controller.quorum.voters": "1@127.0.0.1:1", "log.dirs": str(kept.parent)}
            pairs["listeners"] = "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:1"
            settings.write_text("".join(f"{key}={value}\n" for key, value in pairs.items()))
            done = run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings))
            assert done.returncode == 0, done.stdout + done.stderr
    return kept
