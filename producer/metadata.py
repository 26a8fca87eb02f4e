"""The producer's metadata: brokers, topics, leaders, and when to update them.

Topics are updated while they are used, and forgotten `metadata.max.idle.ms` after the last send. A new topic is looked
up alone and at once. Leader epochs never decrease while the topic id stays. Source: Kafka 3.9, Metadata,
ProducerMetadata.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from ..config.keys.endpoints import HostPort
from ..protocol.errors import ErrorCode, code_of
from ..protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from ..protocol.schema import NO_UUID
from .backoff import Backoff
from .partitioners.partitioner import TopicView

NO_LEADER = -1
MAX_PARTITIONS = 1 << 20
"""Above the number of partitions that a topic can have; higher partition numbers are ignored."""
MAX_MISSING_PARTITIONS = 1000
"""A response may leave out this many partitions of a topic; partition numbers above that are ignored."""
MAX_BROKERS = 1000
"""How many brokers are kept: the producer may connect to each, and keeps state for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The leader of a partition, or NO_LEADER, and its epoch; -1 if the brokers send no epoch."""

    node_id: int
    epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic; `leaders` are indexed by partition."""

    topic_id: UUID
    leaders: Sequence[Leader]
    view: TopicView


FATAL_TOPIC_CODES = frozenset({ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED})


class Metadata:
    """Caches metadata and decides when to update it. The sender sends the requests and passes the responses on.

    `generation` changes with each change of brokers, topics or leaders. `used`: when each topic was last sent to, in
    ms.
    """

    def __init__(self, *, max_age_ms: int, max_idle_ms: int, backoff: Backoff) -> None:
        self.nodes: dict[int, HostPort] = {}
        self.topics: dict[str, Topic] = {}
        self.failed: dict[str, ErrorCode] = {}
        self.unreachable: Mapping[HostPort, str] = {}  # and why
        self.generation = 0
        self._max_age_ms, self._max_idle_ms, self._backoff = max_age_ms, max_idle_ms, backoff
        self.used: dict[str, int] = {}
        self._new: set[str] = set()
        self._updated_ms: int | None = None
        self._attempted_ms = 0
        self._fruitless = 0
        self._wanted = True

    def use(self, topic: str, now_ms: int) -> Topic | None:
        """Marks the topic as used, so that it is kept up to date. Returns it, or None if it is not known yet."""
        known = self.topics.get(topic)
        if known is None and topic not in self.used:
            self._new.add(topic)
        self.used[topic] = now_ms
        return known

    def leader(self, topic: str, partition: int) -> Leader | None:
        """The leader of a partition, or None."""
        known = self.topics.get(topic)
        if known is None or not 0 <= partition < len(known.leaders):
            return None
        leader = known.leaders[partition]
        return leader if leader.node_id in self.nodes else None

    def request_update(self) -> None:
        """Requests an update as soon as the backoff allows."""
        self._wanted = True

    def is_new(self, topic: str) -> bool:
        """Whether the topic is new and has not been looked up yet."""
        return topic in self._new

    @property
    def is_update_wanted(self) -> bool:
        return self._wanted or bool(self._new)

    def ms_to_next_update(self, now_ms: int) -> int:
        """How long until the next update is due; 0: now."""
        if not self._new and not self._wanted and not self._fruitless and self._updated_ms is not None:
            return max(0, self._updated_ms + self._max_age_ms - now_ms)
        if self._new and not self._fruitless:
            return 0
        waited = self._attempted_ms + self._backoff.delay_ms(self._fruitless) - now_ms if self._fruitless else 0
        if self.is_update_wanted or self._updated_ms is None:
            return max(0, waited)
        return max(0, waited, self._updated_ms + self._max_age_ms - now_ms)

    def take_topics_to_ask(self, now_ms: int) -> list[str]:
        """The topics for the next request: only new ones, unless others are out of date. Forgets idle topics."""
        for topic in [t for t, used in self.used.items() if now_ms - used >= self._max_idle_ms]:
            del self.used[topic]
            self._new.discard(topic)
            self.topics.pop(topic, None)
            self.generation += 1
        stale = self._updated_ms is None or now_ms - self._updated_ms >= self._max_age_ms
        if self._new and not self._wanted and not stale:
            return sorted(self._new)
        return sorted(self.used)

    def note_failure(self, now_ms: int) -> None:
        self._fruitless += 1
        self._attempted_ms = now_ms

    def age_ms(self, now_ms: int) -> int:
        return now_ms - (self._updated_ms or now_ms)

    def update(self, response: MetadataResponse, asked: Iterable[str], now_ms: int) -> None:
        """Takes a response to a request for `asked`. If it has nothing new, or topics still have errors, the backoff
        grows.
        """
        asked = set(asked)
        self.generation += 1
        before = (self.nodes, dict(self.topics))
        brokers = islice(response.brokers, MAX_BROKERS)
        self.nodes = {broker.node_id: HostPort(broker.host, broker.port) for broker in brokers} or self.nodes
        self._wanted = False
        for topic in response.topics:
            if topic.name is not None and topic.name in self.used:
                self._update_topic(topic.name, topic)
        self._new -= asked
        if asked >= set(self.used):
            self._updated_ms = now_ms
        self._attempted_ms = now_ms
        fruitless = self._wanted or before == (self.nodes, self.topics)
        self._fruitless = self._fruitless + 1 if fruitless else 0

    def learn_leader(self, topic: str, partition: int, leader: Leader, nodes: dict[int, HostPort]) -> bool:
        """Takes a leader from a Produce response (KIP-951), if its epoch is newer. Returns whether it is."""
        known = self.topics.get(topic)
        if known is None or not 0 <= partition < len(known.leaders):
            return False
        if leader.epoch <= known.leaders[partition].epoch or leader.node_id not in nodes.keys() | self.nodes.keys():
            return False
        self.generation += 1
        if leader.node_id in nodes and (leader.node_id in self.nodes or len(self.nodes) < MAX_BROKERS):
            self.nodes = {**self.nodes, leader.node_id: nodes[leader.node_id]}
        leaders = [*known.leaders[:partition], leader, *known.leaders[partition + 1 :]]
        self.topics[topic] = _make_topic(topic, known.topic_id, leaders)
        return True

    def _update_topic(self, name: str, answer: MetadataResponseTopic) -> None:
        code = code_of(answer.error_code)
        self.failed.pop(name, None)
        if code is not ErrorCode.NONE:
            self.failed[name] = code
            self.topics.pop(name, None)
            self._wanted |= code not in FATAL_TOPIC_CODES
            return
        known = self.topics.get(name)
        same = known is not None and (known.topic_id == answer.topic_id or NO_UUID in (known.topic_id, answer.topic_id))
        old = known.leaders if known is not None and same else ()
        beyond = min(MAX_PARTITIONS, max(len(answer.partitions), len(old)) + MAX_MISSING_PARTITIONS)
        by_index = {each.partition_index: each for each in answer.partitions if 0 <= each.partition_index < beyond}
        leaders = []
        for index in range(max(by_index, default=-1) + 1):
            partition = by_index.get(index)
            leaders.append(_newer_leader(old[index] if index < len(old) else None, partition))
            if partition is None or code_of(partition.error_code) is ErrorCode.LEADER_NOT_AVAILABLE:
                self._wanted = True
        self.topics[name] = _make_topic(name, answer.topic_id, leaders)


def _newer_leader(old: Leader | None, partition: MetadataResponsePartition | None) -> Leader:
    if partition is None:
        return old or Leader(node_id=NO_LEADER)
    if old is not None and -1 < partition.leader_epoch < old.epoch:
        return old
    return Leader(node_id=partition.leader_id, epoch=partition.leader_epoch)


def _make_topic(name: str, topic_id: UUID, leaders: Sequence[Leader]) -> Topic:
    available = tuple(index for index, leader in enumerate(leaders) if leader.node_id != NO_LEADER)
    view = TopicView(topic=name, partitions=len(leaders), available=available)
    return Topic(topic_id=topic_id, leaders=tuple(leaders), view=view)
