"""A validated append: all that a log needs to write it.

It is always a single batch of magic 2. The checksum does not cover its base offset (bytes 0-7) and partition leader
epoch (bytes 12-15, KIP-98), so a log writes these into a copy of the 61-byte head, and then writes head and body in one
call; the body is never copied.
"""

from dataclasses import dataclass
from enum import IntEnum

from ...protocol.records.v2_header import stamp_header

_SEQUENCES = 1 << 31


class AppendOrigin(IntEnum):
    """The source of the records. Clients may not write control batches, and their sequence numbers are checked."""

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2


@dataclass(slots=True)
class PreparedAppend:
    """The batch made from a produce request's records of one partition, ready to be written.

    `head`: its first 61 bytes. `body`: the rest (a view, not a copy). Both are empty if the request has no whole batch
    of the partition. `conversions`: the records that had to be rebuilt. `temporary_bytes`: the memory for that (both
    are metrics). `received_bytes`: the size of the whole batches that the client sent. `log_append_time_ms`: -1 under
    CreateTime.
    """

    head: bytes
    body: memoryview
    record_count: int
    last_offset_delta: int
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    origin: AppendOrigin = AppendOrigin.CLIENT
    received_bytes: int = 0
    temporary_bytes: int = 0
    conversions: int = 0
    log_append_time_ms: int = -1
    is_control: bool = False

    @property
    def last_sequence(self) -> int:
        """`base_sequence + last_offset_delta`, wrapped after 2147483647 to 0; -1 without a base sequence."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES

    def pieces(self, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
        """The bytes to write: the head with this base offset and leader epoch, and the body."""
        return stamp_header(self.head, base_offset, leader_epoch), self.body


EMPTY_APPEND = PreparedAppend(b"", memoryview(b""), record_count=0, last_offset_delta=-1, max_timestamp=-1)
