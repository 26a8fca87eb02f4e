"""What an append consists of once it is validated: everything a log needs that does not depend on the log.

It is one batch of magic 2, whatever came. Its base offset (bytes 0-7) and partition leader epoch (bytes 12-15) lie
outside the checksum (KIP-98), so a log stamps them into a copy of the 61-byte head and writes head and body in one
call: the body is never copied.
"""

from dataclasses import dataclass
from enum import IntEnum

from ...protocol.records.v2_header import stamp_header

_SEQUENCES = 1 << 31


class AppendOrigin(IntEnum):
    """Who hands in the records: clients may not write control batches and must keep sequence numbers."""

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2


@dataclass(slots=True)
class PreparedAppend:
    """The one batch that is made of the records of one partition of one produce request, ready to be written.

    `head` is its first 61 bytes, `body` the rest (a view, not a copy); both are empty when no record set in the request
    held one complete batch. `conversions` counts records that had to be rebuilt; `temporary_bytes` the memory that took
    (both are metrics). `received_bytes` is the size of the whole batches as the client sent them. `log_append_time_ms`
    is -1 under CreateTime.
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
        """What to write, in order, where there is a batch: the head with its place in the log, and the body."""
        return stamp_header(self.head, base_offset, leader_epoch), self.body


EMPTY_APPEND = PreparedAppend(b"", memoryview(b""), record_count=0, last_offset_delta=-1, max_timestamp=-1)
