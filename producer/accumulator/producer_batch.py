"""A batch of records for one partition, from its first record to its end.

    open -> closed for appends -> closed (bytes made, at the first drain) -> sent -> succeeded | failed | split

Sizes: `estimated` = 61 + records (no codec), or 61 + int(records * ratio * 1.05), with the topic's estimated ratio when
the batch was made. A record fits while estimated + its own uncompressed size <= limit; the first one always fits
(`GrowingBatch` counts that). The first end counts: an answer after the batch expired changes nothing (KIP-91).
Source: Kafka 3.9, ProducerBatch and MemoryRecordsBuilder.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from ...protocol.records.batch import RecordBatch
from ...protocol.records.builder import build_batch
from ...protocol.records.compression.codecs import compress
from ...protocol.records.growing_batch import GrowingBatch
from ...protocol.records.layout import (
    CURRENT_MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    Codec,
    next_sequence,
)
from ...protocol.records.record import Buffer, Record
from ..delivery import Delivery, finish_all
from ..outcome import Outcome
from ..pending_record import PendingRecord
from ..record_encoding import encode_headers, most_bytes
from .batch_header_writer import write_header
from .compression_estimator import SAFETY_FACTOR

TopicPartition = tuple[str, int]

_PLAIN: Final = Codec.NONE
MAX_OPENED_BYTES: Final = 2**31 - 1


class Batch:
    """Records of one partition. `number` orders batches by creation; a split child has the number of its parent.

    `buffer` holds the records until the bytes are made, then their count and sizes; `append` is its method.
    `listeners`: the deliveries that are awaited or have a callback. `children`: have the records after a split, in
    order.
    `sequence_was_reset`: it got new sequence numbers after it was last sent; an answer is about the old ones.
    `is_on_wire`: it was sent, and the request has not ended. `may_be_written`: it was sent, and no broker has said that
    it was not written.
    `observed_ratio`: compressed over uncompressed bytes, once the bytes are made. `fault`: why they could not be made.
    """

    __slots__ = (
        "_bytes",
        "_given_out",
        "_headed",
        "_waiters",
        "append",
        "attempted_epoch",
        "attempts",
        "backoff_ms",
        "base_sequence",
        "buffer",
        "children",
        "codec",
        "created_ms",
        "drained_ms",
        "fault",
        "in_retry",
        "is_on_wire",
        "is_split_child",
        "last_attempt_ms",
        "leader_epoch",
        "listeners",
        "may_be_written",
        "memory_bytes",
        "number",
        "observed_ratio",
        "outcome",
        "partition",
        "producer_epoch",
        "producer_id",
        "sequence_was_reset",
        "topic",
        "topic_partition",
        "transactional",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        codec: Codec,
        limit_bytes: int,
        ratio: float,
        now_ms: int,
        number: int = 0,
        memory_bytes: int = 0,
        is_split_child: bool = False,
        transactional: bool = False,
    ) -> None:
        self.topic, self.partition, self.codec = topic, partition, codec
        self.topic_partition: TopicPartition = (topic, partition)
        self.memory_bytes, self.number = memory_bytes, number
        self.buffer = GrowingBatch(limit_bytes, 1.0 if codec is _PLAIN else ratio * SAFETY_FACTOR)
        self.append = self.buffer.append
        self.is_split_child, self.transactional = is_split_child, transactional
        self.created_ms = self.last_attempt_ms = self.drained_ms = now_ms
        self.attempts = self.backoff_ms = 0
        self.in_retry = self.sequence_was_reset = self.is_on_wire = self.may_be_written = False
        self.leader_epoch = self.attempted_epoch = -1
        self.producer_id, self.producer_epoch, self.base_sequence = NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE
        self.listeners: list[Delivery] = []
        self.children: Sequence[Batch] = ()
        self.outcome: Outcome | None = None
        self.fault: Exception | None = None
        self.observed_ratio = 1.0
        self._bytes: bytearray | memoryview | None = None
        self._headed = self._given_out = False
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def count(self) -> int:
        """How many records it has."""
        return self.buffer.count

    @property
    def estimated_bytes(self) -> int:
        """The estimated size, header included; exact once its bytes are made."""
        return self.buffer.estimated_bytes if self._bytes is None else len(self._bytes)

    @property
    def is_full(self) -> bool:
        """Whether it takes no more records: its estimate reached the limit, or it was closed for appends."""
        return self.buffer.full

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return next_sequence(self.base_sequence, self.count - 1) if self.has_sequence else NO_SEQUENCE

    @property
    def is_done(self) -> bool:
        return self.outcome is not None or bool(self.children)

    def try_append(self, record: PendingRecord) -> int:
        """Appends the record if there is room. Returns by how many bytes the estimate grew; 0: there is no room."""
        delivery = record.delivery
        grown = self.append(delivery.timestamp, record.key, record.value, record.headers)
        if grown:
            delivery.enter_batch(self, self.count - 1)
        return grown

    def close(self, level: int | None) -> float:
        """Makes the bytes, unless they are made already. Returns the compression ratio."""
        self.sequence_was_reset = False
        if self._bytes is not None:
            return self.observed_ratio
        if self.codec is _PLAIN:
            self._bytes = self.buffer.close_with_header_room()
        else:
            compressed = compress(self.codec, self.buffer.close_without_header(), magic=CURRENT_MAGIC, level=level)
            self._bytes = bytearray(RECORD_BATCH_OVERHEAD)
            self._bytes += compressed
            self.observed_ratio = len(compressed) / max(self.buffer.size_bytes, 1)
        self.buffer.release()
        return self.observed_ratio

    def set_producer_state(self, producer_id: int, epoch: int, sequence: int) -> None:
        """Sets producer id, epoch and base sequence; `to_bytes` writes them."""
        self.sequence_was_reset |= self.has_sequence
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, epoch, sequence
        self._headed = False

    def to_bytes(self, magic: int = CURRENT_MAGIC, level: int | None = None) -> Buffer:
        """The bytes to send, in the format of that magic. Later changes do not touch bytes that were returned before.

        Raises: ValueError for headers below magic 2, UnsupportedCompression for zstd there.
        """
        assert self._bytes is not None, "the batch is open"
        if not self._headed:
            if self._given_out:
                # The former bytes may still be on their way to a broker.
                self._bytes = bytearray(self._bytes)
            write_header(
                self._bytes,
                codec=self.codec,
                count=self.count,
                base_timestamp=self.buffer.base_timestamp,
                max_timestamp=self.buffer.max_timestamp,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                base_sequence=self.base_sequence,
                transactional=self.transactional,
            )
            self._headed = True
        if magic == CURRENT_MAGIC:
            self._given_out = True
            return self._bytes
        return build_batch(self.decode_records(), magic=magic, codec=self.codec, level=level)

    def decode_records(self) -> Sequence[Record]:
        """The records, decoded from the bytes of the batch."""
        return list(RecordBatch(memoryview(self.to_bytes())).records(MAX_OPENED_BYTES))

    def count_attempt(self, now_ms: int) -> None:
        """Counts a failed attempt, before the batch is sent again."""
        self.attempts += 1
        self.last_attempt_ms = now_ms
        self.in_retry = True

    def note_leader_epoch(self, epoch: int) -> None:
        """Raises the leader epoch to that of metadata."""
        if epoch > self.leader_epoch:
            self.leader_epoch = epoch

    @property
    def was_reenqueued(self) -> bool:
        """Whether it was put back into its queue, so that its place there does not show its age."""
        return self.in_retry or self.is_split_child

    @property
    def has_newer_leader(self) -> bool:
        """Whether a newer leader is known than at the last attempt (KIP-951)."""
        return self.attempts > 0 and self.leader_epoch > self.attempted_epoch

    def ms_since_attempt(self, now_ms: int) -> int:
        waited_ms = now_ms - self.last_attempt_ms
        return waited_ms if waited_ms > 0 else 0

    def is_expired(self, now_ms: int, delivery_timeout_ms: int) -> bool:
        return now_ms - self.created_ms >= delivery_timeout_ms

    def end(self, outcome: Outcome) -> bool:
        """Ends the batch and calls its listeners in the order of the records. False when it has ended before."""
        if self.is_done:
            return False
        self.outcome = outcome
        self._forget_bytes()
        if self.listeners:
            listeners, self.listeners = self.listeners, []
            finish_all(listeners, self.partition, outcome)
        if self._waiters:
            self._wake_waiters()
        return True

    def _forget_bytes(self) -> None:
        self._bytes = None
        self.buffer.release()

    async def wait_for_end(self) -> None:
        """Returns when the batch was acknowledged, has failed, or was split."""
        while not self.is_done:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def _wake_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def split_into(self, limit_bytes: int, ratio: float) -> list["Batch"]:
        """Moves its records, listeners and sequences to new batches of `limit_bytes`, closed for appends; returns
        these.

        If all records fit into one child, the batch is halved.
        """
        records = self.decode_records()
        children = self._make_children(records, limit_bytes, ratio)
        if len(children) < 2:
            middle = (len(records) + 1) // 2
            children = [
                *self._make_children(records[:middle], MAX_OPENED_BYTES, ratio),
                *self._make_children(records[middle:], MAX_OPENED_BYTES, ratio),
            ]
        self._pass_deliveries_to(children)
        return children

    def _make_children(self, records: Sequence[Record], limit_bytes: int, ratio: float) -> list["Batch"]:
        children: list[Batch] = []
        for record in records:
            key = None if record.key is None else bytes(record.key)
            value = None if record.value is None else bytes(record.value)
            headers = encode_headers(record.headers)
            bound = most_bytes(-1 if key is None else len(key), -1 if value is None else len(value), len(headers))
            if not children or not children[-1].buffer.append(record.timestamp, key, value, headers):
                children.append(self._make_child(max(limit_bytes, bound), ratio))
                children[-1].buffer.append(record.timestamp, key, value, headers)
        for child in children:
            child.buffer.full = True
        return children

    def _make_child(self, limit_bytes: int, ratio: float) -> "Batch":
        return Batch(
            self.topic,
            self.partition,
            codec=self.codec,
            limit_bytes=limit_bytes,
            ratio=ratio,
            now_ms=self.created_ms,
            number=self.number,
            is_split_child=True,
            transactional=self.transactional,
        )

    def _pass_deliveries_to(self, children: Sequence["Batch"]) -> None:
        sequence = self.base_sequence
        for child in children:
            child.leader_epoch = self.leader_epoch
            if self.has_sequence:
                child.set_producer_state(self.producer_id, self.producer_epoch, sequence)
                sequence = next_sequence(sequence, child.count)
        self.children = children
        listeners, self.listeners = self.listeners, []
        for delivery in listeners:
            if (batch := delivery.find_batch()) is not None:
                batch.listeners.append(delivery)
        self._forget_bytes()
        self._wake_waiters()
