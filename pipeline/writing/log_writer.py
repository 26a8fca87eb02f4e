"""Collects records of one partition into batches of any magic and appends these to its log."""

from dataclasses import dataclass

from ...protocol.records.builder import build_batch
from ...protocol.records.layout import MAGIC_V0, MAX_INT32, Codec, TimestampType
from ...protocol.records.record import Record
from ...storage.log.log import Log

DEFAULT_BATCH_BYTES = 16_384
MAGICS = (0, 1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """How batches are made. `batch_bytes` bounds keys, values and headers of a batch before it is compressed.

    Raises: ValueError for what no producer can write.
    """

    magic: int = 2
    codec: Codec = Codec.NONE
    batch_bytes: int = DEFAULT_BATCH_BYTES

    def __post_init__(self) -> None:
        if self.magic not in MAGICS:
            raise ValueError(f"there is no magic {self.magic}")
        if self.magic < 2 and self.codec is Codec.ZSTD:
            raise ValueError(f"magic {self.magic} has no zstd")
        if self.batch_bytes < 1:
            raise ValueError("batch_bytes is below 1")


class LogWriter:
    """Appends records to a log in batches of leader epoch 0 and keeps their offsets. `records` counts those appended.

    Records of different timestamp types, or of different append times, do not share a batch.
    """

    __slots__ = ("_batching", "_pending", "_size", "log", "records", "stored_bytes")

    def __init__(self, log: Log, batching: BatchSettings) -> None:
        self.log = log
        self.records = 0
        self.stored_bytes = 0
        self._batching = batching
        self._pending: list[Record] = []
        self._size = 0

    @property
    def next_offset(self) -> int:
        """The offset after the last record's."""
        return self._pending[-1].offset + 1 if self._pending else self.log.log_end_offset

    def add(self, record: Record) -> None:
        """Take a record; its offset is `next_offset` or a later one.

        Raises: as `flush`.
        """
        size = _size(record)
        if self._pending and not self._fits_in_batch(record, size):
            self.flush()
        self._pending.append(record)
        self._size += size

    def _fits_in_batch(self, record: Record, size: int) -> bool:
        first = self._pending[0]
        if self._size + size > self._batching.batch_bytes or record.offset - first.offset > MAX_INT32:
            return False
        return self._batch_append_time(record) == self._batch_append_time(first)

    def _batch_append_time(self, record: Record) -> int | None:
        """The timestamp that the batch has for all its records, None where each has its own."""
        is_batch_time = record.timestamp_type is TimestampType.LOG_APPEND_TIME and self._batching.magic > MAGIC_V0
        return record.timestamp if is_batch_time else None

    def flush(self) -> None:
        """Append what is waiting.

        Raises: ValueError for what the magic cannot hold, ApiError for a batch larger than a segment, DiskFault.
        """
        if not self._pending:
            return
        append_time = self._batch_append_time(self._pending[0])
        batch = build_batch(
            self._pending,
            magic=self._batching.magic,
            codec=self._batching.codec,
            timestamp_type=TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME,
            log_append_time=append_time,
            partition_leader_epoch=0,
        )
        self.log.append_as_follower(batch)
        self.stored_bytes += len(batch)
        self.records += len(self._pending)
        self._pending.clear()
        self._size = 0


def _size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
