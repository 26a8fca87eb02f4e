"""The records of a partition as they lie on the disk, and as a client sees them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from stepdown.protocol.records.batches import iter_batches

from .deadline import DEADLINE_S

Seen = tuple[int, int, bytes | None, bytes | None]
"""Offset, time, key and value of a record."""


def records_on_disk(folder: Path) -> Iterator[Seen]:
    """What the segments hold, without control records."""
    for segment in sorted(folder.glob("*.log")):
        for batch in iter_batches(segment.read_bytes()):
            if not batch.is_control:
                for record in batch.records():
                    yield record.offset, record.timestamp, record.key, record.value


def as_clients_see(records: Iterable[Seen]) -> list[Seen]:
    """librdkafka has the time 0 where there is none."""
    return [(offset, max(time, 0), key, value) for offset, time, key, value in records]


def consume(address: str, name: str, index: int, isolation: str = "read_uncommitted") -> list[Seen]:
    """All records of a partition, as a client sees them."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False,
         "isolation.level": isolation, "enable.partition.eof": True}
    )  # fmt: skip
    found: list[Seen] = []
    consumer.assign([TopicPartition(name, index, 0)])
    while True:
        message = consumer.poll(DEADLINE_S)
        assert message is not None, f"{name}-{index} ends after {len(found)} records"
        if message.error() is not None:
            break
        found.append((message.offset(), message.timestamp()[1], message.key(), message.value()))
    consumer.close()
    return found
