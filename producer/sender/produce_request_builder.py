"""Builds the producer's Produce requests: from a message, or for a single batch from a stored template."""

from collections.abc import Sequence

from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.record import Buffer
from ..accumulator.producer_batch import Batch, TopicPartition
from ..settings import ProducerSettings
from .produce_request_template import SINCE_VERSION, ProduceRequestTemplate, RequestFromTemplate


class ProduceRequestBuilder:
    """The templates that it keeps are by version and partition."""

    def __init__(self, settings: ProducerSettings) -> None:
        self._settings = settings
        self._templates: dict[tuple[int, TopicPartition], ProduceRequestTemplate] = {}

    def build(self, batches: Sequence[tuple[Batch, Buffer]], version: int) -> ProduceRequest | RequestFromTemplate:
        """The request that has these batches, at least one, each with its bytes."""
        if len(batches) > 1 or version < SINCE_VERSION:
            return self._make_message(batches)
        [(batch, records)] = batches
        key = version, batch.topic_partition
        template = self._templates.get(key)
        if template is None:
            empty, client_id = self._make_message(()), self._settings.client_id
            template = self._templates[key] = ProduceRequestTemplate(
                version, client_id, empty, batch.topic, batch.partition
            )
        return RequestFromTemplate(template, records)

    def _make_message(self, batches: Sequence[tuple[Batch, Buffer]]) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for batch, records in batches:
            part = PartitionProduceData(index=batch.partition, records=records)
            topics.setdefault(batch.topic, []).append(part)
        return ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=[TopicProduceData(name=name, partition_data=parts) for name, parts in topics.items()],
        )
