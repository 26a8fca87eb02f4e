"""A producer on a clock that stands still, before a cluster that answers only what the test says.

    async with producing(linger_ms=5) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance(5)
        [request] = stage.cluster.open                     # a Produce request without answer
        request.answer()                                   # or answer(ErrorCode.NOT_LEADER_OR_FOLLOWER), .drop() ...

The cluster answers Metadata and InitProducerId by itself; `cluster.topics` and `leaders` say what it has.
"""

import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from stepdown.config import HostPort
from stepdown.producer import ProducerError
from stepdown.producer.accumulator.compression_estimator import CompressionRatios
from stepdown.producer.clock import Clock
from stepdown.producer.injected_dependencies import Dependencies
from stepdown.producer.producer import Producer
from stepdown.producer.sender.network_interface import NetworkAnswer, VersionRanges
from stepdown.producer.sender.produce_request_template import RequestFromTemplate
from stepdown.producer.settings import ProducerSettings
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.init_producer_id import InitProducerIdResponse
from stepdown.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.layout import next_sequence
from stepdown.protocol.records.legacy_batch import LegacyBatch
from stepdown.storage.producers.producer_states import BATCHES_REMEMBERED
from support.clock import ManualClock, settle

ALL_VERSIONS: VersionRanges = {int(key): (spec.min_version, spec.max_version) for key, spec in API.items()}

# A broker that leads nothing: it answers metadata while the others are not ready.
IDLE_NODE = 99


@dataclass
class Asked:
    """A request that waits for its answer."""

    cluster: "Cluster"
    node_id: int
    key: ApiKey
    version: int
    request: Any
    done: Callable[[NetworkAnswer], None]
    sent_ms: int

    @property
    def batches(self) -> dict[tuple[str, int], RecordBatch | LegacyBatch]:
        """Partition to the batch that a Produce request carries for it."""
        return {
            (topic.name, part.index): view_batch(memoryview(bytes(part.records)))
            for topic in self.request.topic_data
            for part in topic.partition_data
        }

    def values(self, topic: str = "t", partition: int = 0) -> list[bytes]:
        return [bytes(record.value or b"") for record in self.batches[topic, partition].records()]

    def answer(self, code: ErrorCode = ErrorCode.NONE, offset: int | None = None, **fields: Any) -> None:
        """Answers for all partitions of a Produce request; offsets run on unless given."""
        self.answer_each(lambda topic, index: code, offset, **fields)

    def answer_each(self, code_of: Callable[[str, int], ErrorCode], offset: int | None = None, **fields: Any) -> None:
        self.finish(NetworkAnswer(response=self._response(code_of, offset, fields)))

    def lose(self) -> None:
        """The broker writes everything, and the connection breaks before it says so."""
        self._response(lambda topic, index: ErrorCode.NONE, None, {})
        self.drop()

    def _response(
        self, code_of: Callable[[str, int], ErrorCode], offset: int | None, fields: dict[str, Any]
    ) -> ProduceResponse:
        topics = [
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    self._partition(topic.name, part.index, code_of(topic.name, part.index), offset, fields)
                    for part in topic.partition_data
                ],
            )
            for topic in self.request.topic_data
        ]
        return ProduceResponse(responses=topics)

    def _partition(
        self, topic: str, index: int, code: ErrorCode, offset: int | None, fields: dict[str, Any]
    ) -> PartitionProduceResponse:
        base = -1
        if code is ErrorCode.NONE and self.cluster.checks_sequences:
            code, base = self.cluster.appended(topic, index, self.batches[topic, index])
        elif code is ErrorCode.NONE:
            base = self.cluster.written(topic, index, self.batches[topic, index]) if offset is None else offset
        return PartitionProduceResponse(index=index, error_code=code, base_offset=base, **fields)

    def drop(self, why: ErrorCode = ErrorCode.NETWORK_EXCEPTION) -> None:
        """The connection breaks."""
        self.finish(NetworkAnswer(failure=why))

    def finish(self, answer: NetworkAnswer) -> None:
        self.cluster.open.remove(self)
        self.done(answer)


@dataclass
class Known:
    """What a partition knows of a producer: the last batches of its epoch by first sequence, last, and offset."""

    epoch: int
    batches: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass
class Cluster:
    """The network and the brokers behind it."""

    clock: ManualClock
    settings: ProducerSettings
    topics: dict[str, int] = field(default_factory=lambda: {"t": 1})
    leaders: dict[tuple[str, int], int] = field(default_factory=dict)
    epochs: dict[tuple[str, int], int] = field(default_factory=dict)
    spoken: VersionRanges = field(default_factory=lambda: dict(ALL_VERSIONS))
    nodes: int = 1
    unready: set[int] = field(default_factory=set)
    open: list[Asked] = field(default_factory=list)
    log: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)
    metadata_asked: list[list[str]] = field(default_factory=list)
    producer_ids: int = 1000
    init_codes: list[ErrorCode] = field(default_factory=list)
    checks_sequences: bool = False
    producers: dict[tuple[str, int, int], Known] = field(default_factory=dict)
    other: Callable[[Asked], None] | None = None
    fault: ProducerError | None = None

    @property
    def in_flight(self) -> int:
        return len(self.open)

    def ready(self, node_id: int, address: HostPort, now_ms: int) -> bool:
        mine = sum(asked.node_id == node_id for asked in self.open)
        return node_id not in self.unready and mine < self.settings.max_in_flight

    def versions(self, node_id: int) -> VersionRanges:
        return self.spoken

    def send(
        self,
        node_id: int,
        key: ApiKey,
        version: int,
        request: Any,
        done: Callable[[NetworkAnswer], None],
        *,
        answered: bool,
    ) -> None:
        if isinstance(request, RequestFromTemplate):
            request = request.template.make_message(request.records)
        asked = Asked(self, node_id, key, version, request, done, self.clock.now_ms())
        if key is ApiKey.PRODUCE and answered:
            self.open.append(asked)
        elif key is ApiKey.PRODUCE:
            self.clock.call_later(0, lambda: done(NetworkAnswer()))
        elif key is ApiKey.METADATA:
            response = self._metadata(asked)
            self.clock.call_later(0, lambda: done(NetworkAnswer(response=response)))
        elif key is ApiKey.INIT_PRODUCER_ID and self.other is None:
            response = self._producer_id()
            self.clock.call_later(0, lambda: done(NetworkAnswer(response=response)))
        else:
            assert self.other is not None, f"nobody answers {key.name}"
            self.other(asked)

    def flush_and_expire(self, now_ms: int) -> int:
        return 1 << 62

    def sort_by_load(self, nodes: Iterable[int]) -> list[int]:
        return sorted(nodes)

    def failures(self) -> dict[HostPort, str]:
        return {}

    def close(self) -> None:
        self.open.clear()

    def written(self, topic: str, partition: int, batch: RecordBatch | LegacyBatch) -> int:
        """Appends the batch to the log; its base offset."""
        log = self.log.setdefault((topic, partition), [])
        base = len(log)
        log.extend(bytes(record.value or b"") for record in batch.records())
        return base

    def appended(self, topic: str, partition: int, batch: RecordBatch | LegacyBatch) -> tuple[ErrorCode, int]:
        """What a broker says to a batch with a sequence, as in `storage/producers`, and the offset that it has."""
        assert isinstance(batch, RecordBatch)
        place = topic, partition, batch.producer_id
        known = self.producers.setdefault(place, Known(batch.producer_epoch))
        for first, last, offset in known.batches:
            if (batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (known.epoch, first, last):
                return ErrorCode.NONE, offset
        if batch.producer_epoch < known.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, -1
        following = 0
        if batch.producer_epoch == known.epoch:
            # Of a producer that it does not know a broker takes any sequence.
            following = next_sequence(known.batches[-1][1], 1) if known.batches else batch.base_sequence
        if batch.base_sequence != following:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        offset = self.written(topic, partition, batch)
        if batch.producer_epoch != known.epoch:
            known = self.producers[place] = Known(batch.producer_epoch)
        known.batches.append((batch.base_sequence, batch.last_sequence, offset))
        del known.batches[:-BATCHES_REMEMBERED]
        return ErrorCode.NONE, offset

    def forget(self, topic: str, partition: int) -> None:
        """The partition knows no producer any more, as after its records were deleted."""
        for place in [place for place in self.producers if place[:2] == (topic, partition)]:
            del self.producers[place]

    def _producer_id(self) -> InitProducerIdResponse:
        code = self.init_codes.pop(0) if self.init_codes else ErrorCode.NONE
        if code is not ErrorCode.NONE:
            return InitProducerIdResponse(error_code=code)
        self.producer_ids += 1
        return InitProducerIdResponse(producer_id=self.producer_ids, producer_epoch=0)

    def _metadata(self, asked: Asked) -> MetadataResponse:
        names = [topic.name for topic in asked.request.topics]
        self.metadata_asked.append(names)
        brokers = [MetadataResponseBroker(node_id=i, host="127.0.0.1", port=9092 + i) for i in range(self.nodes)]
        brokers.append(MetadataResponseBroker(node_id=IDLE_NODE, host="127.0.0.1", port=9999))
        return MetadataResponse(brokers=brokers, topics=[self._topic(name) for name in names])

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.topics:
            return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partitions = [
            MetadataResponsePartition(
                partition_index=index,
                leader_id=self.leaders.get((name, index), index % self.nodes),
                leader_epoch=self.epochs.get((name, index), 0),
                error_code=ErrorCode.NONE
                if self.leaders.get((name, index), 0) >= 0
                else ErrorCode.LEADER_NOT_AVAILABLE,
            )
            for index in range(self.topics[name])
        ]
        return MetadataResponseTopic(name=name, partitions=partitions)


@dataclass
class Stage:
    """A running producer with its cluster and clock."""

    producer: Producer
    cluster: Cluster
    clock: ManualClock

    async def advance(self, delay_ms: int = 0) -> None:
        """Moves time on; timers due now run first."""
        await settle()
        await self.clock.advance(delay_ms)
        await self.clock.advance(0)

    async def produced(self, delay_ms: int = 0) -> list[Asked]:
        """The Produce requests without answer, after `delay_ms`."""
        await self.advance(delay_ms)
        return list(self.cluster.open)


@asynccontextmanager
async def producing(cluster_setup: Callable[[Cluster], object] | None = None, **settings: Any) -> AsyncIterator[Stage]:
    """A started producer, without idempotence and with fixed draws unless told otherwise."""
    clock = ManualClock()
    clusters: list[Cluster] = []

    def link(producer_settings: ProducerSettings, of: Clock, changed: Callable[[], None]) -> Cluster:
        cluster = Cluster(clock, producer_settings)
        if cluster_setup is not None:
            cluster_setup(cluster)
        clusters.append(cluster)
        return cluster

    around = Dependencies(
        clock=clock,
        link=link,
        draws=settings.pop("draws", None) or random.Random(1),
        ratios=settings.pop("ratios", None) or CompressionRatios(),
    )

    class Staged(Producer):
        def _make_dependencies(self) -> Dependencies:
            return around

    producer = Staged("127.0.0.1:9092", **{"enable_idempotence": False} | settings)
    await producer.start()
    stage = Stage(producer, clusters[0], clock)
    await stage.advance()
    try:
        yield stage
    finally:
        await producer.close(0)
