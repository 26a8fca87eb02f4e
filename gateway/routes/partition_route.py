"""Requests with topics and their partitions, each of which goes to the leader of the partition."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from ...protocol.primitives import NO_UUID
from .route import AnyRoute, Leader, Target, join_responses


@dataclass(frozen=True, slots=True)
class PartitionRoute(AnyRoute):
    """Names of the fields of a request and of its response; `index` is "" where partitions are plain numbers."""

    topics: str
    name: str
    partitions: str
    index: str
    answered_topics: str
    answered_name: str
    answered_partitions: str

    def targets(self, request: Any) -> Iterable[Target]:
        for topic in getattr(request, self.topics):
            key = _key_of(topic, self.name)
            for each in getattr(topic, self.partitions):
                yield Leader(key, self._index_of(each))

    def take_part(self, request: Any, is_wanted: Callable[[Target], bool]) -> Any:
        topics = []
        for topic in getattr(request, self.topics):
            key = _key_of(topic, self.name)
            kept = [each for each in getattr(topic, self.partitions) if is_wanted(Leader(key, self._index_of(each)))]
            if kept:
                topics.append(replace(topic, **{self.partitions: kept}))
        return replace(request, **{self.topics: topics})

    def join(self, responses: Sequence[Any]) -> Any:
        found: dict[str | UUID, Any] = {}
        partitions: dict[str | UUID, list[Any]] = {}
        for response in responses:
            for topic in getattr(response, self.answered_topics):
                key = _key_of(topic, self.answered_name)
                found.setdefault(key, topic)
                partitions.setdefault(key, []).extend(getattr(topic, self.answered_partitions))
        topics = [replace(topic, **{self.answered_partitions: partitions[key]}) for key, topic in found.items()]
        return join_responses(responses, self.answered_topics, topics)

    def _index_of(self, partition: Any) -> int:
        index: int = getattr(partition, self.index) if self.index else partition
        return index


def _key_of(topic: Any, field: str) -> str | UUID:
    """The id of a topic where it has one, else its name."""
    topic_id: UUID = getattr(topic, "topic_id", NO_UUID)
    if topic_id != NO_UUID:
        return topic_id
    name: str = getattr(topic, field)
    return name
