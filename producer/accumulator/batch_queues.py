"""The queues of batches, one for each partition that was written to, with its leader.

Leaders are looked up only when metadata has changed or a queue is new.
"""

from collections import deque
from collections.abc import Iterator

from ..metadata import Leader, Metadata
from .producer_batch import Batch


class BatchQueue(deque[Batch]):
    """The batches of a partition, oldest first. `leader`: None while there is none."""

    __slots__ = ("leader", "partition", "topic", "topic_partition")

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__()
        self.topic, self.partition = topic, partition
        self.topic_partition = topic, partition
        self.leader: Leader | None = None


class BatchQueues:
    """All queues, by topic and partition, in the order of their first use. `led`: the queues that each node leads."""

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, BatchQueue]] = {}
        self.led: dict[int, list[BatchQueue]] = {}
        self._generation = -1

    def __iter__(self) -> Iterator[BatchQueue]:
        return (queue for queues in self.topics.values() for queue in queues.values())

    def of_topic(self, topic: str) -> dict[int, BatchQueue]:
        """The queues of a topic, by partition."""
        queues = self.topics.get(topic)
        if queues is None:
            queues = self.topics[topic] = {}
        return queues

    def of_partition(self, topic: str, partition: int) -> BatchQueue:
        """The queue of a partition, made if it is new."""
        queues = self.of_topic(topic)
        queue = queues.get(partition)
        if queue is None:
            queue = queues[partition] = BatchQueue(topic, partition)
            self._generation = -1
        return queue

    def update_leaders(self, metadata: Metadata) -> None:
        """Takes the current leaders from metadata."""
        if self._generation == metadata.generation:
            return
        led: dict[int, list[BatchQueue]] = {}
        for queue in self:
            queue.leader = metadata.leader(queue.topic, queue.partition)
            if queue.leader is not None:
                led.setdefault(queue.leader.node_id, []).append(queue)
        self.led, self._generation = led, metadata.generation
