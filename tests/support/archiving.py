"""Records for an archive, and what may be asked of it afterwards."""

from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from .deadline import DEADLINE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def produce(address: str, topic: str, partitions: int, count: int) -> None:
    """Write records round the partitions and return when all are acknowledged."""
    producer = Producer({"bootstrap.servers": address, "acks": "all"})
    for number in range(count):
        producer.produce(topic, key=b"%d" % number, value=b"v" * (number % 200), partition=number % partitions)
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0


def archived(spark: "SparkSession", out: Path, kind: str) -> tuple[int, int]:
    """(rows, distinct (topic, partition, offset)) of an archive."""
    table = spark.read.format(kind).load(str(out))
    rows = table.select("topic", "partition", "offset")
    return rows.count(), rows.distinct().count()
