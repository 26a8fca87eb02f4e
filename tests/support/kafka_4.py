"""Apache Kafka 4.1.1, started as `kafka.py` starts 3.9.1."""

from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from stepdown.bench.servers.maven import STDERR_LOG

from .deadline import DEADLINE_S
from .kafka import ApacheKafka

KAFKA_4_1 = "org.apache.kafka:kafka_2.13:4.1.1"


class ApacheKafka4(ApacheKafka):
    """Kafka 4.1.1 over `folder`."""

    version = "4.1.1"

    def create_topic(self, name: str, *, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
        """Create a topic; the requests that older brokers take are gone from this one."""
        admin = AdminClient({"bootstrap.servers": self.address})
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=configs or {})
        admin.create_topics([topic], operation_timeout=DEADLINE_S)[name].result(DEADLINE_S)

    def _jars(self) -> tuple[Path, ...]:
        return self._store.class_path(KAFKA_4_1, STDERR_LOG)
