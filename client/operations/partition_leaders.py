"""Which broker leads a partition, for clients that read partitions themselves."""

from collections.abc import Iterable

from ..errors import raise_if_error
from ..operation import Operation, TopicPartition, ask
from .topics import make_metadata_request


class PartitionLeaders:
    """The ids of the leaders found by the last `refresh_and_count_partitions` of each topic."""

    def __init__(self) -> None:
        self._leaders: dict[TopicPartition, int] = {}

    def refresh_and_count_partitions(self, topics: Iterable[str]) -> Operation[dict[str, int]]:
        """Looks up the leaders of topics; returns the number of partitions of each. Raises: KafkaError."""
        response = yield from ask(make_metadata_request(topics))
        nodes = {each.node_id for each in response.brokers}
        for topic in response.topics:
            raise_if_error(f"topic {topic.name}", topic)
            for each in topic.partitions:
                self._set_leader((topic.name, each.partition_index), each.leader_id, nodes)
        return {topic.name: len(topic.partitions) for topic in response.topics}

    def group_by_leader(self, topic_partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """The partitions by the id of their leader; those without a leader are left out."""
        found: dict[int, list[TopicPartition]] = {}
        for topic_partition in topic_partitions:
            if (leader := self._leaders.get(topic_partition)) is not None:
                found.setdefault(leader, []).append(topic_partition)
        return found

    def _set_leader(self, topic_partition: TopicPartition, leader: int, nodes: set[int]) -> None:
        if leader in nodes:
            self._leaders[topic_partition] = leader
        else:
            self._leaders.pop(topic_partition, None)
