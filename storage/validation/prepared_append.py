"""What an append consists of once it is validated: everything a log needs that does not depend on the log.

Batches are always of magic 2. Their base offset (bytes 0-7) and partition leader epoch (bytes 12-15) lie outside the
checksum (KIP-98), so a log stamps them into a copy of the 61-byte head and writes head and body in one call: the body
is never copied.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

_OFFSET_LENGTH_EPOCH = Struct(">q4si")
_SEQUENCES = 1 << 31


class AppendOrigin(IntEnum):
    """Who hands in the records: clients may not write control batches and must keep sequence numbers."""

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2


class PreparedBatch(NamedTuple):
    """One magic 2 batch ready to be written: `head` is its first 61 bytes, `body` the rest (a view, not a copy).

    `last_sequence` is `base_sequence + last_offset_delta`, wrapped after 2147483647 to 0, and -1 without a base
    sequence. `offset_delta_of_max_timestamp` is what the time index wants: the delta of the batch's last record, as
    Kafka keeps only batch-level positions.
    """

    head: bytes
    body: memoryview
    record_count: int
    last_offset_delta: int
    max_timestamp: int
    offset_delta_of_max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False

    @property
    def size_bytes(self) -> int:
        return len(self.head) + len(self.body)

    @property
    def last_sequence(self) -> int:
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES

    def stamped_head(self, base_offset: int, leader_epoch: int) -> bytes:
        """The head with its place in the log: 61 bytes, the checksum still right."""
        head = self.head
        return _OFFSET_LENGTH_EPOCH.pack(base_offset, head[8:12], leader_epoch) + head[16:]


class PreparedAppend(NamedTuple):
    """The batches of one partition of one produce request; they are appended whole or not at all.

    `conversions` counts records that had to be rebuilt; `temporary_bytes` the memory that took (both are metrics).
    `received_bytes` is the size of the whole batches as the client sent them. `log_append_time_ms` is -1 under
    CreateTime.
    """

    batches: tuple[PreparedBatch, ...]
    origin: AppendOrigin
    record_count: int
    size_bytes: int
    received_bytes: int
    log_append_time_ms: int = -1
    conversions: int = 0
    temporary_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.batches

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of all records, -1 when none has one."""
        return max((batch.max_timestamp for batch in self.batches), default=-1)

    def pieces(self, first_offset: int, leader_epoch: int) -> Iterator[bytes | memoryview]:
        """What to write, in order, when the first record takes `first_offset`."""
        base_offset = first_offset
        for batch in self.batches:
            yield batch.stamped_head(base_offset, leader_epoch)
            yield batch.body
            base_offset += batch.last_offset_delta + 1


def empty_append(origin: AppendOrigin) -> PreparedAppend:
    """An append of nothing: no record set in the request held one complete batch."""
    return PreparedAppend(batches=(), origin=origin, record_count=0, size_bytes=0, received_bytes=0)
