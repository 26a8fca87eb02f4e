"""Apache Kafka with tiered storage (KIP-405), and what is written to it and read."""

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from .deadline import DEADLINE_S
from .maven import class_path

LOCAL_TIERED_STORAGE = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
TEST_JAR = "org.apache.kafka:kafka-storage:3.9.1:test"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ROWS_AT_ONCE = 1000
POLL_S = 0.2
BLOCK = 1000
"""Offsets whose rows are compared by one sum."""

Row = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp, key, value."""
Sums = dict[tuple[str, int], tuple[int, int]]
"""Topic and block to its count of rows and the sum of their CRC-32."""

ROW_CRC = (
    "crc32(concat(cast(concat_ws('|', offset, unix_millis(timestamp), coalesce(length(key), -1),"
    " coalesce(length(value), -1)) AS binary), coalesce(key, X''), coalesce(value, X'')))"
)
"""`row_crc` in Spark's SQL."""


def local_tiered_settings(root: Path) -> dict[str, str]:
    """Settings of a broker whose LocalTieredStorage puts segments below `root`, a folder of its name for it."""
    assert root.name == "kafka-tiered-storage"
    jar = next(path for path in class_path(TEST_JAR) if path.name.endswith("-test.jar"))
    return {
        "remote.log.storage.manager.class.name": LOCAL_TIERED_STORAGE,
        "remote.log.storage.manager.class.path": str(jar),
        "rsm.config.dir": str(root.parent),
    }


def tiered_properties(storage: Mapping[str, str], *, replicas: int = 1) -> dict[str, str]:
    """Settings of brokers with this storage."""
    return dict(storage) | {
        "remote.log.storage.system.enable": "true",
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.topic.replication.factor": str(replicas),
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "200",
        "remote.log.manager.task.interval.ms": "300",
        "log.initial.task.delay.ms": "300",
        "log.retention.check.interval.ms": "300",
    }


def tiered_topic(segment_bytes: int) -> dict[str, str]:
    """Settings of a topic that keeps only its newest segment on the broker's disk."""
    return {
        "remote.storage.enable": "true",
        "segment.bytes": str(segment_bytes),
        "local.retention.bytes": "1",
        "file.delete.delay.ms": "0",
    }


def leave_open(address: str, topic: str) -> None:
    """A transaction that does not end, and a record behind it that has none."""
    producer = Producer(
        {"bootstrap.servers": address, "transactional.id": f"{topic}-open", "transaction.timeout.ms": 900_000}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(topic, b"of an open transaction", partition=0)
    assert producer.flush(DEADLINE_S) == 0
    plain = Producer({"bootstrap.servers": address})
    plain.produce(topic, b"behind it", partition=0)
    assert plain.flush(DEADLINE_S) == 0


def await_upload(log: Path, tiered: Path, *, wait_s: float = DEADLINE_S) -> None:
    """Return when the broker has only its newest segment left of its log, so all others are in tiered storage."""
    end = time.monotonic() + wait_s
    while len(list(log.glob("*.log"))) > 1:
        assert time.monotonic() < end, [sorted(path.name for path in log.iterdir()), list(tiered.glob("*"))]
        time.sleep(0.1)


def consumed(address: str, topic: str, isolation_level: str, starts: Sequence[int] = (0,)) -> Iterator[Row]:
    """Yield the records of the topic's one partition; the consumer fetches anew from each of `starts`.

    A fetch that begins before an epoch's start goes on in Kafka 3.9.1 to the end of the segment that the leader before
    had uploaded, beyond what an unclean election has left of it: so the starts of the epochs are to be named.
    """
    for start, end in zip_longest(starts, starts[1:]):
        yield from _consumed(address, topic, isolation_level, start, end)


def _consumed(address: str, topic: str, isolation_level: str, start: int, end: int | None) -> Iterator[Row]:
    settings = {"bootstrap.servers": address, "group.id": "reader", "isolation.level": isolation_level}
    consumer = Consumer(settings | {"enable.partition.eof": True, "auto.offset.reset": "error"})
    consumer.assign([TopicPartition(topic, 0, start)])
    count, until = 0, time.monotonic() + DEADLINE_S
    try:
        while True:
            messages = consumer.consume(ROWS_AT_ONCE, POLL_S)  # all of that time where there are fewer
            until = time.monotonic() + DEADLINE_S if messages else until
            assert time.monotonic() < until, f"{topic}: no end after {count} records"
            for message in messages:
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    return
                assert error is None, error
                if end is not None and message.offset() >= end:
                    return
                count += 1
                yield message.offset(), message.timestamp()[1], message.key(), message.value()
    finally:
        consumer.close()


def sums(address: str, topic: str, isolation_level: str, starts: Sequence[int]) -> Sums:
    """The sums of what a consumer reads of the topic."""
    found: Sums = {}
    for row in consumed(address, topic, isolation_level, starts):
        key = topic, row[0] // BLOCK
        count, total = found.get(key, (0, 0))
        found[key] = count + 1, total + row_crc(row)
    return found


def row_crc(row: Row) -> int:
    """CRC-32 over all of a row."""
    offset, timestamp, key, value = row
    sizes = (-1 if key is None else len(key), -1 if value is None else len(value))
    return zlib.crc32(value or b"", zlib.crc32(key or b"", zlib.crc32(b"%d|%d|%d|%d" % (offset, timestamp, *sizes))))
