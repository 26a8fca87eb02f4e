"""Kafka 3.9.1's record classes, called through the oracle (`java/oracle/records/oracle/Records.java`)."""

from dataclasses import dataclass
from struct import pack, unpack_from

from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.protocol.records.record import Record

from .java_oracle import JavaOracle


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBatch:
    """A batch as Kafka's reader sees it."""

    magic: int
    codec: Codec
    base_offset: int
    last_offset: int
    max_timestamp: int
    timestamp_type: TimestampType
    records: tuple[Record, ...]


class KafkaRecords:
    """The commands of the room, with values in and out."""

    def __init__(self, oracle: JavaOracle) -> None:
        self._oracle = oracle

    def build(
        self,
        records: list[Record],
        *,
        magic: int = 2,
        codec: Codec = Codec.NONE,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time: int = -1,
        base_offset: int | None = None,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        partition_leader_epoch: int = -1,
        transactional: bool = False,
        delete_horizon_ms: int = -1,
    ) -> bytes:
        """Return what MemoryRecordsBuilder builds."""
        first = records[0].offset if base_offset is None else base_offset
        head = pack(
            ">bbbqqqhii?qi",
            *(magic, codec, timestamp_type, log_append_time, first, producer_id, producer_epoch, base_sequence),
            *(partition_leader_epoch, transactional, delete_horizon_ms, len(records)),
        )
        return self._oracle.call("Records.build", head + b"".join(map(_encoded, records)))

    def down_convert(self, data: bytes, target: int, first_offset: int) -> tuple[bytes, int, int]:
        """Return what RecordsUtil.downConvert makes, the records it converted and its temporary bytes."""
        answer = self._oracle.call("Records.downConvert", pack(">bq", target, first_offset) + data)
        converted, temporary_bytes = unpack_from(">qq", answer)
        return answer[16:], converted, temporary_bytes

    def read(self, data: bytes) -> list[ReadBatch]:
        """Return the batches that MemoryRecords finds valid. Raises: JavaError for the first that is not."""
        answer = _Reader(self._oracle.call("Records.read", data))
        batches = []
        while answer.left:
            magic, codec, timestamp_type, base_offset, last_offset, max_timestamp, count = answer.take(">bbbqqqi")
            kind = TimestampType(timestamp_type)
            batches.append(
                ReadBatch(
                    magic=magic,
                    codec=Codec(codec),
                    base_offset=base_offset,
                    last_offset=last_offset,
                    max_timestamp=max_timestamp,
                    timestamp_type=kind,
                    records=tuple(answer.record(kind) for _ in range(count)),
                )
            )
        return batches


def _encoded(record: Record) -> bytes:
    head = pack(">qq", record.offset, record.timestamp) + _blob(record.key) + _blob(record.value)
    headers = (pack(">h", len(key.encode())) + key.encode() + _blob(value) for key, value in record.headers)
    return head + pack(">i", len(record.headers)) + b"".join(headers)


def _blob(value: bytes | memoryview | None) -> bytes:
    return pack(">i", -1) if value is None else pack(">i", len(value)) + value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, form: str) -> tuple[int, ...]:
        values = unpack_from(form, self._data, self._at)
        self._at += len(pack(form, *values))
        return values

    def record(self, timestamp_type: TimestampType) -> Record:
        offset, timestamp = self.take(">qq")
        key, value = self._blob(), self._blob()
        (count,) = self.take(">i")
        headers = tuple((self._text(), self._blob()) for _ in range(count))
        return Record(
            offset=offset, timestamp=timestamp, timestamp_type=timestamp_type, key=key, value=value, headers=headers
        )

    def _text(self) -> str:
        return self._bytes(self.take(">h")[0]).decode()

    def _blob(self) -> bytes | None:
        (size,) = self.take(">i")
        return None if size < 0 else self._bytes(size)

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]
