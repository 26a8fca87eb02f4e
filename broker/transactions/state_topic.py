"""`__transaction_state` as the coordinator's store: which partition a transactional id is in, records written and read.

A batch has one record and is uncompressed; the topic is made when it is first needed. The errors that clients get for a
record that could not be written (Kafka 3.9, TransactionStateManager.appendTransactionToLog):

    3, 19, 20, 7      COORDINATOR_NOT_AVAILABLE
    6, 56             NOT_COORDINATOR
    10, 18            UNKNOWN_SERVER_ERROR
"""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from ...protocol.coordinator.partitioning import partition_of
from ...protocol.coordinator.transaction_log import (
    TransactionRecord,
    decode_transaction_record,
    encode_transaction_record,
)
from ...protocol.errors import ApiError, ErrorCode, MalformedFrame, PeerFault
from ...protocol.records.batches import Batch
from ...protocol.records.builder import build_plain_batch
from ...storage.validation.prepared_append import AppendOrigin
from ...storage.validation.record_sets import prepare
from ..maintenance.internal_topic_loading import read_log_entries
from ..metadata.partition import Partition
from ..metadata.topic_rules import TRANSACTION_TOPIC

if TYPE_CHECKING:
    from ..core import Core
    from ..metadata.topics import Topics

_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}

log = logging.getLogger(__name__)


class StateTopic:
    """The partitions of `__transaction_state` that this broker leads."""

    def __init__(self, core: "Core", topics: "Topics") -> None:
        self._topics = topics
        self._core = core

    @property
    def exists(self) -> bool:
        return TRANSACTION_TOPIC in self._core.cluster.topics

    async def ensure(self) -> None:
        """Makes the topic if there is none. Raises: ApiError COORDINATOR_NOT_AVAILABLE."""
        if self.exists:
            return
        try:
            await self._topics.ensure(TRANSACTION_TOPIC)
        except ApiError as error:
            message = f"{TRANSACTION_TOPIC} could not be created: {error}"
            raise ApiError(message, ErrorCode.COORDINATOR_NOT_AVAILABLE) from error

    def partition_of(self, transactional_id: str) -> int:
        topic = self._core.cluster.topics.get(TRANSACTION_TOPIC)
        settings = self._core.settings
        count = settings.transaction_state_log_num_partitions if topic is None else len(topic.partitions)
        return partition_of(transactional_id, count)

    def led_partition(self, index: int) -> Partition:
        """The partition. Raises: ApiError NOT_COORDINATOR when another broker leads it, or none."""
        topic = self._core.cluster.topics.get(TRANSACTION_TOPIC)
        partition = None if topic is None else topic.partitions.get(index)
        if partition is None or partition.leader_id != self._core.cluster.node_id:
            raise ApiError(f"{TRANSACTION_TOPIC}-{index} is not led here", ErrorCode.NOT_COORDINATOR)
        return partition

    def partitions_with_records(self) -> list[int]:
        """Partitions that have something to load."""
        topic = self._core.cluster.topics.get(TRANSACTION_TOPIC)
        if topic is None:
            return []
        return [index for index in topic.partitions if self.has_records(index)]

    def leads(self, index: int) -> bool:
        topic = self._core.cluster.topics.get(TRANSACTION_TOPIC)
        partition = None if topic is None else topic.partitions.get(index)
        return partition is not None and partition.leader_id == self._core.cluster.node_id

    def has_records(self, index: int) -> bool:
        """Whether this broker leads the partition and there is something to load."""
        if not self.leads(index):
            return False
        source = self.led_partition(index).log
        return source.log_end_offset > source.log_start_offset

    # Writing

    async def write(self, index: int, records: Sequence[TransactionRecord], timeout_ms: int) -> None:
        """Returns when the records are in one batch of the partition, and replicated. Raises: ApiError."""
        try:
            partition, end_offset = self._append(index, records)
            await self._core.await_replication(partition, end_offset, timeout_ms)
        except ApiError as error:
            self._core.metrics.transaction_append_errors.of("state").add()
            code = _ERRORS.get(error.code, error.code)
            raise ApiError(f"{TRANSACTION_TOPIC}-{index} could not be written: {error}", code) from error

    def _append(self, index: int, records: Sequence[TransactionRecord]) -> tuple[Partition, int]:
        partition = self.led_partition(index)
        partition.check_enough_in_sync()
        topic = self._core.cluster.topics[TRANSACTION_TOPIC]
        now_ms = self._core.clock.now_ms()
        data = build_plain_batch(map(encode_transaction_record, records), timestamp=now_ms)
        rules = self._core.append_rules_of(topic)
        prepared = prepare(memoryview(data), rules, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
        info = self._core.append(partition, prepared)
        return partition, info.last_offset + 1

    # Reading back

    def read(self, index: int) -> AsyncIterator[TransactionRecord]:
        """Yields the records of a partition in their order, in turns. Raises: ApiError."""
        source = self.led_partition(index).log
        size, place = self._core.settings.transaction_state_log_load_buffer_bytes, f"{TRANSACTION_TOPIC}-{index}"
        return read_log_entries(self._core, source, size, lambda batch: _decode_records(batch, place))


def _decode_records(batch: Batch, place: str) -> list[TransactionRecord]:
    """The transaction records of a batch; the rest of a batch that cannot be read is skipped, with a warning."""
    if batch.is_control:
        return []
    found = []
    try:
        for record in batch.records():
            decoded = None if record.key is None else decode_transaction_record(record.key, record.value)
            if decoded is not None:
                found.append(decoded)
    except (PeerFault, MalformedFrame) as fault:
        log.warning("%s: the batch at offset %d cannot be read to its end: %s", place, batch.base_offset, fault)
    return found
