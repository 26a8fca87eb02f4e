"""Which broker leads a partition, and a connection to it: what a command needs that reads partitions themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType

from ...config import HostPort
from ...protocol.api import ApiKey
from ...protocol.errors import error_name
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from .broker_client import BrokerClient
from .failures import CommandFailed

TopicPartition = tuple[str, int]
NO_LEADER = -1
TOPICS_HINT = "`stepdown topics list` shows what there is."


class PartitionLeaders:
    """Brokers by the partitions they lead; `entry` is asked for them, and belongs to it from now on.

    Raises: CommandFailed from every method.
    """

    def __init__(self, entry: BrokerClient) -> None:
        self._entry = entry
        self._clients: dict[int, BrokerClient] = {}
        self._addresses: dict[int, HostPort] = {}
        self._leaders: dict[TopicPartition, int] = {}

    def __enter__(self) -> PartitionLeaders:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        for client in (self._entry, *self._clients.values()):
            client.close()

    def refresh(self, topics: Iterable[str]) -> dict[str, int]:
        """The number of partitions of each topic; their leaders are known from now on."""
        wanted = tuple(MetadataRequestTopic(name=name) for name in topics)
        response = self._entry.call(
            ApiKey.METADATA, lambda version: MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        )
        self._addresses = {each.node_id: HostPort(each.host, each.port) for each in response.brokers}
        for topic in response.topics:
            if topic.error_code:
                raise CommandFailed(f"topic {topic.name}: {error_name(topic.error_code)}", TOPICS_HINT)
            self._leaders |= {(topic.name, each.partition_index): each.leader_id for each in topic.partitions}
        return {topic.name: len(topic.partitions) for topic in response.topics}

    def by_broker(self, topic_partitions: Iterable[TopicPartition]) -> Mapping[BrokerClient, list[TopicPartition]]:
        """The topic_partitions, each under the broker that leads it; those without a leader are left out."""
        found: dict[BrokerClient, list[TopicPartition]] = {}
        for topic_partition in topic_partitions:
            node_id = self._leaders.get(topic_partition, NO_LEADER)
            if node_id in self._addresses:
                found.setdefault(self._client(node_id), []).append(topic_partition)
        return found

    def _client(self, node_id: int) -> BrokerClient:
        client = self._clients.get(node_id)
        if client is None:
            client = self._clients[node_id] = self._entry.another(self._addresses[node_id])
        return client
