"""Requests with topics and their partitions, which go to the leaders of the partitions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from ...network.turn import Turn
from ...protocol.primitives import NO_UUID
from .route import AnyBrokerRoute, Brokers, LeaderTarget, Target, join_responses


@dataclass(frozen=True, slots=True)
class PartitionRoute(AnyBrokerRoute):
    """The field names of a request and its response; `index` is "" if partitions are plain numbers."""

    topics: str
    name: str
    partitions: str
    index: str
    answered_topics: str
    answered_name: str
    answered_partitions: str

    def targets(self, request: Any) -> Iterable[Target]:
        for topic in getattr(request, self.topics):
            key = _topic_id_or_name(topic, self.name)
            for each in getattr(topic, self.partitions):
                yield LeaderTarget(key, self._partition_index(each))

    async def split(self, request: Any, brokers: Brokers, turn: Turn) -> dict[int | None, Any]:
        topics: dict[int | None, list[Any]] = {}
        for topic in getattr(request, self.topics):
            key = _topic_id_or_name(topic, self.name)
            partitions: dict[int | None, list[Any]] = {}
            for each in getattr(topic, self.partitions):
                partitions.setdefault(brokers[LeaderTarget(key, self._partition_index(each))], []).append(each)
                await turn.next()
            for broker, own in partitions.items():
                topics.setdefault(broker, []).append(replace(topic, **{self.partitions: own}))
                await turn.next()
        return {broker: replace(request, **{self.topics: own}) for broker, own in topics.items()}

    def join(self, responses: Sequence[Any]) -> Any:
        found: dict[str | UUID, Any] = {}
        partitions: dict[str | UUID, list[Any]] = {}
        for response in responses:
            for topic in getattr(response, self.answered_topics):
                key = _topic_id_or_name(topic, self.answered_name)
                found.setdefault(key, topic)
                partitions.setdefault(key, []).extend(getattr(topic, self.answered_partitions))
        topics = [replace(topic, **{self.answered_partitions: partitions[key]}) for key, topic in found.items()]
        return join_responses(responses, self.answered_topics, topics)

    def _partition_index(self, partition: Any) -> int:
        index: int = getattr(partition, self.index) if self.index else partition
        return index


def _topic_id_or_name(topic: Any, field: str) -> str | UUID:
    """The id of a topic if it has one, else its name."""
    topic_id: UUID = getattr(topic, "topic_id", NO_UUID)
    if topic_id != NO_UUID:
        return topic_id
    name: str = getattr(topic, field)
    return name
