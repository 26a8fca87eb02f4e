"""Record sets built and read by Kafka's own classes (Java oracle room `corpus`).

`Sets.build` takes, for each batch: int8 magic, int8 codec id, int8 timestamp type, int64 append time, int32 count, then
records: int64 offset, int64 timestamp, key, value. `Sets.read` answers, for each batch: int8 magic, int8 codec id, int8
timestamp type, int64 last offset, int64 max timestamp, int32 size, int32 count, then records as above with headers.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .clients import Message
from .clients_raw import Reader, blob
from .java_oracle import JavaOracle, java_oracle_for

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
Row = tuple[int, int, bytes | None, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch to build; rows are (offset, timestamp, key, value), offsets may have gaps."""

    magic: int
    codec: str = "none"
    append_time_ms: int | None = None
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecord:
    """A record with its offset, as Kafka's reader gives it."""

    offset: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBatch:
    """A batch that Kafka's reader found whole and valid. Its size is left out: it is the codec library's business."""

    magic: int
    codec: str
    timestamp_type: int
    last_offset: int
    max_timestamp: int
    records: tuple[ReadRecord, ...]


def build_sets(batches: Iterable[Batch]) -> bytes:
    """Return the batches one after the other, as Kafka's builder writes them."""
    return _oracle().call("Sets.build", b"".join(map(_payload, batches)))


def read_sets(data: bytes) -> list[ReadBatch]:
    """Return the whole batches of a set; a cut batch at the end is ignored, as consumers do.

    Raises:
        JavaError: Kafka's reader finds a checksum or a structure wrong.
    """
    reader = Reader(_oracle().call("Sets.read", data))
    found = []
    while reader.at < len(reader.data):
        found.append(_batch(reader))
    return found


def _oracle() -> JavaOracle:
    return java_oracle_for("corpus")


def _payload(batch: Batch) -> bytes:
    by_broker = batch.append_time_ms is not None
    head = struct.pack(
        ">bbbqi", batch.magic, CODECS.index(batch.codec), by_broker, batch.append_time_ms or -1, len(batch.rows)
    )
    rows = (struct.pack(">qq", offset, time) + blob(key) + blob(value) for offset, time, key, value in batch.rows)
    return head + b"".join(rows)


def _batch(reader: Reader) -> ReadBatch:
    magic, codec, timestamp_type = reader.take("b"), CODECS[reader.take("b")], reader.take("b")
    last_offset, max_timestamp = reader.take("q"), reader.take("q")
    reader.take("i")
    count = reader.take("i")
    return ReadBatch(
        magic=magic,
        codec=codec,
        timestamp_type=timestamp_type,
        last_offset=last_offset,
        max_timestamp=max_timestamp,
        records=tuple(_record(reader) for _ in range(count)),
    )


def _record(reader: Reader) -> ReadRecord:
    offset, timestamp = reader.take("q"), reader.take("q")
    key, value = reader.blob(), reader.blob()
    headers = tuple((reader.raw(reader.take("h")).decode(), reader.blob()) for _ in range(reader.take("i")))
    message = Message(key=key, value=value, headers=headers, timestamp_ms=timestamp)
    return ReadRecord(offset=offset, message=message)
