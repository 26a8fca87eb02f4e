"""Apache Kafka itself on 127.0.0.1, as benchmarks start it: the other side of interop and differential tests."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stepdown.bench.servers.kafka import KAFKA_3_9, KafkaServer

from .clients_raw import create_topic
from .java_build import JVM_OPTIONS, java
from .maven import JARS, class_path
from .shared_classes import shared_classes

QUICK = {
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.backoff.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
    "broker.heartbeat.interval.ms": "200",
}
"""Small and quick: no rebalance delay, a cleaner that a test need not wait for."""


class ApacheKafka(KafkaServer):
    """Kafka 3.9.1 over `folder`; started again on the same folder it serves the same data."""

    def __init__(
        self,
        folder: Path,
        *,
        advertised: str | None = None,
        properties: Mapping[str, str] | None = None,
        heap: str = "384m",
    ) -> None:
        settings = QUICK | dict(properties or {})
        super().__init__(folder, JARS, advertised=advertised, properties=settings, heap=heap, jvm_options=JVM_OPTIONS)

    def __enter__(self) -> "ApacheKafka":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _options(self) -> list[str]:
        return [*super()._options(), shared_classes(self._jars())]

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic and return when each partition has a leader that answers."""
        create_topic(self.address, name, partitions=partitions, configs=configs)


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
