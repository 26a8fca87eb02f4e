"""`__consumer_offsets` as the coordinator's store: which partition a group is in, batches written and read back.

Each call writes one batch, without compression unless `offsets.topic.compression.codec` says so. A transactional batch
has base sequence 0, as in Kafka; sequences are not checked. The topic is created when it is first needed.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING

from ....protocol.coordinator.group_log import (
    EncodedGroupRecord,
    GroupRecord,
    decode_group_record,
    encode_group_record,
)
from ....protocol.coordinator.partitioning import partition_of
from ....protocol.errors import ApiError, ErrorCode, MalformedFrame, PeerFault
from ....protocol.records.batches import Batch
from ....protocol.records.builder import build_plain_batch
from ....protocol.records.layout import Codec, ControlType
from ....protocol.records.record import Record
from ....storage.validation.prepared_append import AppendOrigin
from ....storage.validation.record_sets import prepare
from ...maintenance.internal_topic_loading import read_log_entries
from ...metadata.partition import Partition
from ...metadata.topic_rules import OFFSETS_TOPIC
from ..group_record_log import StoredRecords, TransactionalProducer
from ..offsets.committed_offsets import NO_PRODUCER

if TYPE_CHECKING:
    from ...core import Core
    from ...metadata.topics import Topics

_CONTROL_KEY = Struct(">hh")

log = logging.getLogger(__name__)


class OffsetsTopic:
    """The partitions of `__consumer_offsets` that this broker leads."""

    def __init__(self, core: "Core", topics: "Topics") -> None:
        self._topics = topics
        self._core = core
        self._codec = Codec(core.settings.offsets_topic_compression_codec)

    @property
    def exists(self) -> bool:
        return OFFSETS_TOPIC in self._core.cluster.topics

    async def ensure(self) -> None:
        """Makes the topic if there is none. Raises: ApiError COORDINATOR_NOT_AVAILABLE."""
        if self.exists:
            return
        try:
            await self._topics.ensure(OFFSETS_TOPIC)
        except ApiError as error:
            message = f"{OFFSETS_TOPIC} could not be created: {error}"
            raise ApiError(message, ErrorCode.COORDINATOR_NOT_AVAILABLE) from error

    @property
    def partition_count(self) -> int:
        """How many partitions the topic has, or will have."""
        topic = self._core.cluster.topics.get(OFFSETS_TOPIC)
        return self._core.settings.offsets_topic_num_partitions if topic is None else len(topic.partitions)

    def partition_of(self, group_id: str) -> int:
        return partition_of(group_id, self.partition_count)

    def leads(self, index: int) -> bool:
        topic = self._core.cluster.topics.get(OFFSETS_TOPIC)
        partition = None if topic is None else topic.partitions.get(index)
        return partition is not None and partition.leader_id == self._core.cluster.node_id

    def partitions_with_records(self) -> list[int]:
        """Partitions that have something to load."""
        topic = self._core.cluster.topics.get(OFFSETS_TOPIC)
        if topic is None:
            return []
        return [index for index in topic.partitions if self.has_records(index)]

    def has_records(self, index: int) -> bool:
        """Whether this broker leads the partition and has records of it to load."""
        if not self.leads(index):
            return False
        source = self._core.cluster.partition(OFFSETS_TOPIC, index).log
        return source.log_end_offset > source.log_start_offset

    def end_offsets(self) -> dict[int, int]:
        """The log end offset of each partition that is led here."""
        topic = self._core.cluster.topics.get(OFFSETS_TOPIC)
        led = [] if topic is None else [index for index in topic.partitions if self.leads(index)]
        return {index: self._led_partition(index).log.log_end_offset for index in led}

    # Writing

    def append(
        self, group_id: str, records: Sequence[GroupRecord], producer: TransactionalProducer | None = None
    ) -> StoredRecords:
        """Writes all of `records` in one batch. Raises: ApiError when nothing was written."""
        return self.append_encoded_records(group_id, list(map(encode_group_record, records)), producer)

    def append_encoded_records(
        self,
        group_id: str,
        records: Sequence[EncodedGroupRecord],
        producer: TransactionalProducer | None = None,
    ) -> StoredRecords:
        """Writes records that are encoded already, in one batch. Raises: ApiError when nothing was written."""
        partition = self._led_partition(self.partition_of(group_id))
        partition.check_enough_in_sync()
        topic = self._core.cluster.topics[OFFSETS_TOPIC]
        now_ms = self._core.clock.now_ms()
        data = self._build_batch(records, producer, now_ms)
        rules = self._core.append_rules_of(topic)
        prepared = prepare(memoryview(data), rules, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
        info = self._core.append(partition, prepared)
        return StoredRecords(partition=partition.index, first_offset=info.first_offset, end_offset=info.last_offset + 1)

    def _led_partition(self, index: int) -> Partition:
        if not self.leads(index):
            raise ApiError(f"{OFFSETS_TOPIC}-{index} is not led here", ErrorCode.NOT_COORDINATOR)
        return self._core.cluster.partition(OFFSETS_TOPIC, index)

    def _build_batch(
        self, records: Sequence[EncodedGroupRecord], producer: TransactionalProducer | None, now_ms: int
    ) -> bytes:
        if producer is None:
            return build_plain_batch(records, timestamp=now_ms, codec=self._codec)
        return build_plain_batch(
            records,
            timestamp=now_ms,
            codec=self._codec,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            transactional=True,
        )

    async def await_replication(self, stored: StoredRecords, timeout_ms: int) -> None:
        """Returns when the in-sync replicas have them. Raises: ApiError 6 or 7."""
        partition = self._core.cluster.partition(OFFSETS_TOPIC, stored.partition)
        await self._core.await_replication(partition, stored.end_offset, timeout_ms)

    # Reading back

    def read_entries(self, index: int) -> AsyncIterator["OffsetsTopicEntry"]:
        """All records and markers of a partition in order; yields to the event loop in between. Raises: ApiError."""
        source = self._core.cluster.partition(OFFSETS_TOPIC, index).log
        size, place = self._core.settings.offsets_load_buffer_bytes, f"{OFFSETS_TOPIC}-{index}"
        return read_log_entries(self._core, source, size, lambda batch: _decode_entries(batch, place))


class OffsetsTopicEntry:
    """A record of the log, or with `record` None the marker that ends a transaction of `producer_id`."""

    __slots__ = ("is_commit", "offset", "producer_id", "record")

    def __init__(self, offset: int, producer_id: int, record: GroupRecord | None, *, is_commit: bool = False) -> None:
        self.offset = offset
        self.producer_id = producer_id
        self.record = record
        self.is_commit = is_commit


def _decode_entries(batch: Batch, place: str) -> list[OffsetsTopicEntry]:
    """The entries of a batch; what cannot be read is skipped, as the rest is better than nothing."""
    try:
        records = list(batch.records())
    except PeerFault as fault:
        log.warning("%s: the batch at offset %d cannot be read and is skipped: %s", place, batch.base_offset, fault)
        return []
    if batch.is_control:
        return [_decode_marker(batch, record) for record in records]
    producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER
    return [entry for record in records if (entry := _decode_entry(record, producer_id, place)) is not None]


def _decode_marker(batch: Batch, record: Record) -> OffsetsTopicEntry:
    kind = _CONTROL_KEY.unpack_from(record.key or b"\0" * _CONTROL_KEY.size)[1]
    return OffsetsTopicEntry(record.offset, batch.producer_id, None, is_commit=kind == ControlType.COMMIT)


def _decode_entry(record: Record, producer_id: int, place: str) -> OffsetsTopicEntry | None:
    try:
        decoded = None if record.key is None else decode_group_record(record.key, record.value)
    except MalformedFrame as fault:
        log.warning("%s: the record at offset %d cannot be read and is skipped: %s", place, record.offset, fault)
        return None
    return None if decoded is None else OffsetsTopicEntry(record.offset, producer_id, decoded)
