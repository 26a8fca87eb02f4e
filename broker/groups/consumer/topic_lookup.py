"""Topic lookup for consumer groups: name to partitions and racks, id to name."""

from typing import TYPE_CHECKING
from uuid import UUID

from ....protocol.coordinator.consumer_group_records import PartitionMetadata, TopicMetadata

if TYPE_CHECKING:
    from ...metadata.image import MetadataImage, Topic
    from ...metadata.partition import Partition


class TopicLookup:
    """Looks into the metadata image."""

    def __init__(self, cluster: "MetadataImage") -> None:
        self._cluster = cluster

    def find(self, name: str) -> TopicMetadata | None:
        """The topic as a group remembers it; None when there is none."""
        topic = self._cluster.topics.get(name)
        if topic is None:
            return None
        return TopicMetadata(
            topic_id=topic.topic_id,
            topic_name=name,
            num_partitions=len(topic.partitions),
            partition_metadata=self._partition_racks(topic) if self._knows_racks() else (),
        )

    def count_partitions(self, name: str) -> int:
        topic = self._cluster.topics.get(name)
        return 0 if topic is None else len(topic.partitions)

    def names(self) -> list[str]:
        """All topics, the broker's own as well."""
        return list(self._cluster.topics)

    def name_of(self, topic_id: UUID) -> str | None:
        topic = self._cluster.topic_of(topic_id)
        return None if topic is None else topic.name

    def _knows_racks(self) -> bool:
        return any(node.rack is not None for node in tuple(self._cluster.brokers.values()))

    def _partition_racks(self, topic: "Topic") -> tuple[PartitionMetadata, ...]:
        racks = ((index, self._racks_of(partition)) for index, partition in sorted(topic.partitions.items()))
        return tuple(PartitionMetadata(partition=index, racks=known) for index, known in racks if known)

    def _racks_of(self, partition: "Partition") -> tuple[str, ...]:
        brokers = (self._cluster.brokers.get(node_id) for node_id in partition.replicas)
        return tuple(sorted({node.rack for node in brokers if node is not None and node.rack is not None}))
