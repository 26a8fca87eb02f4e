"""The client that asks brokers for a test."""

from collections.abc import Mapping
from typing import Any

from ..client.blocking_client import BlockingClient
from ..client.errors import check
from ..client.operation import ask
from ..client.operations.topics import metadata_request
from ..client.security.settings import OPEN, SecuritySettings
from ..client.versions import ANY_VERSION
from ..config.keys.endpoints import parse_host_port

CLIENT_ID = "stepdown-testing"
NEWEST = ANY_VERSION[1]


class WireClient(BlockingClient):
    """Asks any broker, or the leader of a partition. May be used by several threads."""

    def __init__(self, bootstrap: str, security: SecuritySettings = OPEN) -> None:
        addresses = [parse_host_port(each) for each in bootstrap.split(",")]
        super().__init__(addresses, client_id=CLIENT_ID, security=security)

    def call(self, request: Any, most: int = NEWEST, *, node: int | None = None) -> Any:
        """The response of that node, or of the first broker that answers, in version `most` at most."""
        return self.run(ask(request, node, within=(0, most)))

    def leaders(self, topic: str) -> dict[int, int]:
        """The leader of each partition. Raises: KafkaError."""
        (found,) = self.call(metadata_request([topic])).topics
        check(f"topic {topic}", found)
        return {
            each.partition_index: each.leader_id for each in sorted(found.partitions, key=lambda p: p.partition_index)
        }


def by_node(leaders: Mapping[int, int]) -> dict[int, list[int]]:
    """The partitions of each leader."""
    found: dict[int, list[int]] = {}
    for partition, node in leaders.items():
        found.setdefault(node, []).append(partition)
    return found
