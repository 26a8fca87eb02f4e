"""The metadata image: brokers, topics, partitions. One broker is a cluster of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ...config.settings import TopicSettings
from ...protocol.errors import ApiError, ErrorCode
from ...storage.validation.append_rules import AppendRules
from .partition import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where clients of one listener reach a broker."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerNode:
    """A broker as Metadata shows it; `endpoints` by listener name."""

    node_id: int
    rack: str | None
    endpoints: dict[str, Endpoint]


@dataclass(slots=True, kw_only=True)
class Topic:
    """A topic: `overrides` are its own configs as given, `settings` what is in force.

    `append_rules`: what follows from the settings for appended records; None until the first append after a change.
    """

    name: str
    topic_id: UUID
    settings: TopicSettings
    overrides: dict[str, str] = field(default_factory=dict)
    partitions: dict[int, Partition] = field(default_factory=dict)
    is_internal: bool = False
    append_rules: AppendRules | None = None


class MetadataImage:
    """Topics by name and id, and the brokers that hold them."""

    def __init__(self, *, cluster_id: str, node_id: int) -> None:
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.brokers: dict[int, BrokerNode] = {}
        self.topics: dict[str, Topic] = {}
        self._names: dict[UUID, str] = {}
        self._producer_ids: Callable[[], int] | None = None

    def add(self, topic: Topic) -> None:
        self.topics[topic.name] = topic
        self._names[topic.topic_id] = topic.name

    def remove(self, name: str) -> Topic:
        topic = self.topics.pop(name)
        self._names.pop(topic.topic_id, None)
        return topic

    def topic_of(self, topic_id: UUID) -> Topic | None:
        name = self._names.get(topic_id)
        return None if name is None else self.topics[name]

    def set_producer_id_source(self, source: Callable[[], int]) -> None:
        """Sets the function that returns new producer ids."""
        self._producer_ids = source

    def next_producer_id(self) -> int:
        """A producer id that was never given out before. Raises DiskFault."""
        if self._producer_ids is None:
            raise RuntimeError("nobody hands out producer ids before the topics are loaded")
        return self._producer_ids()

    def check_led_here(self, partition: Partition) -> None:
        """Raises ApiError NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR where its log directory is offline."""
        if partition.leader_id != self.node_id:
            if not partition.is_here:
                assert partition.log  # it says why it is not here
            place = f"{partition.topic_name}-{partition.index}"
            raise ApiError(f"{place} is led by broker {partition.leader_id}", ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition.log.check_online()

    @property
    def controller_id(self) -> int:
        """The broker that clients may take for the controller; -1 when none lives."""
        return min(self.brokers, default=-1)

    def racks(self) -> dict[int, str | None]:
        """The rack of each living broker."""
        return {node_id: node.rack for node_id, node in self.brokers.items()}

    def offline_brokers_among(self, replicas: Sequence[int]) -> list[int]:
        """The ids in `replicas` of brokers that do not live."""
        return [node_id for node_id in replicas if node_id not in self.brokers]

    def leader_of(self, partition: Partition) -> int:
        """The id of the broker that leads the partition; -1 when there is none, or its log is offline here."""
        is_ours = partition.leader_id == self.node_id
        return -1 if is_ours and partition.is_here and partition.log.is_offline else partition.leader_id

    def offline_replicas(self, partition: Partition) -> list[int]:
        """The replicas of brokers that do not live, and ours if its log is offline."""
        own = [self.node_id] if self.is_offline_here(partition) else []
        return [*self.offline_brokers_among(partition.replicas), *own]

    def is_offline_here(self, partition: Partition) -> bool:
        """Whether this broker has a replica whose files cannot be used."""
        is_offline = partition.log.is_offline if partition.is_here else partition.leader_id < 0
        return is_offline and self.node_id in partition.replicas

    def each_local_partition(self) -> Iterator[Partition]:
        """The partitions that this broker has a replica of, one after the other; topics may come and go meanwhile."""
        for topic in tuple(self.topics.values()):
            yield from (each for each in tuple(topic.partitions.values()) if each.is_here)

    def local_partitions(self) -> list[Partition]:
        """All partitions that this broker has a replica of now."""
        return list(self.each_local_partition())

    def partition(self, topic: str, index: int) -> Partition:
        """The partition. Raises ApiError UNKNOWN_TOPIC_OR_PARTITION."""
        found = self.topics.get(topic)
        partition = None if found is None else found.partitions.get(index)
        if partition is None:
            raise unknown_partition(topic, index)
        return partition


def unknown_partition(topic: str, index: int) -> ApiError:
    """The error to raise where the image has no such partition."""
    return ApiError(f"there is no partition {topic}-{index}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
