"""Apache Kafka as a cluster of three processes: the other side of tests of replication.

Broker 1 is the only controller as well, so that the others may go without taking the quorum with them.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stepdown.bench.servers.ports import free_port

from .kafka import ApacheKafka
from .kafka_4 import LATEST, ApacheKafka4

IDS = (1, 2, 3)


class ApacheKafkaCluster:
    """Kafka 3.9.1, or 4.4.0 if it `is_latest`: three brokers over `folder/1` to `folder/3`; a broker that was killed
    starts again on its port."""

    def __init__(self, folder: Path, properties: Mapping[str, str], *, is_latest: bool = False) -> None:
        controller = f"127.0.0.1:{free_port()}"
        member = _LatestMember if is_latest else _Member
        self.brokers = {
            node_id: member(folder / str(node_id), node_id, controller, dict(properties)) for node_id in IDS
        }

    def start(self) -> None:
        """Starts all at once."""
        try:
            self.brokers[1].start()
            with ThreadPoolExecutor() as others:
                list(others.map(lambda node_id: self.brokers[node_id].start(), IDS[1:]))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops all; followers first, as a broker without its controller takes long."""
        for node_id in reversed(IDS):
            self.brokers[node_id].stop()

    def __enter__(self) -> "ApacheKafkaCluster":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


class _Member(ApacheKafka):
    def __init__(self, folder: Path, node_id: int, controller: str, properties: dict[str, str]) -> None:
        own = {"node.id": str(node_id), "controller.quorum.voters": f"1@{controller}"}
        super().__init__(folder, properties=properties | own, heap="256m")
        listener = f"PLAINTEXT://{self.address}"
        is_controller = node_id == 1
        self._properties["process.roles"] = "broker,controller" if is_controller else "broker"
        self._properties["listeners"] = f"{listener},CONTROLLER://{controller}" if is_controller else listener


class _LatestMember(_Member, ApacheKafka4):
    def __init__(self, folder: Path, node_id: int, controller: str, properties: dict[str, str]) -> None:
        super().__init__(folder, node_id, controller, properties)
        self.version = LATEST
