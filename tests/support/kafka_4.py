"""Apache Kafka 4, started as `kafka.py` starts 3.9.1."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from stepdown.bench.servers.kafka import CLUSTER_ID
from stepdown.bench.servers.maven import STDERR_LOG

from .deadline import DEADLINE_S
from .java_build import java
from .kafka import ApacheKafka

LATEST = "4.4.0"


class ApacheKafka4(ApacheKafka):
    """Kafka 4.1.1, or another `release` of 4, over `folder`."""

    def __init__(
        self, folder: Path, *, release: str = "4.1.1", properties: Mapping[str, str] | None = None, heap: str = "384m"
    ) -> None:
        super().__init__(folder, properties=properties, heap=heap)
        self.version = release

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic; the requests that older brokers take are gone from this one."""
        admin = AdminClient({"bootstrap.servers": self.address})
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=configs or {})
        admin.create_topics([topic], operation_timeout=DEADLINE_S)[name].result(DEADLINE_S)

    def _jars(self) -> tuple[Path, ...]:
        return self._store.class_path(f"org.apache.kafka:kafka_2.13:{self.version}", STDERR_LOG)


class NewKafka4(ApacheKafka4):
    """Formatted by its own tools: its newest features are in force, where the other has those of 3.9.1."""

    def _start_others(self) -> None:
        if (self.log_dir / "meta.properties").exists():
            return
        settings = str(self.folder / "server.properties")
        command = java(self._jars(), "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", settings)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
