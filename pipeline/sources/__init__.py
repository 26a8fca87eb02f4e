"""Spark's data sources `kafka-segments` and `kafka-batches`: options and schemas come in, rows as Arrow batches go out.

`kafka-segments` also reads streams and writes new logs.
"""

from pyspark.sql import SparkSession

from .batches import KafkaBatches
from .records import KafkaSegments

SOURCES = (KafkaSegments, KafkaBatches)


def register(session: SparkSession) -> None:
    """Make the data sources known to a session; Spark finds `kafka-segments` by itself in an installed wheel only."""
    for source in SOURCES:
        session.dataSource.register(source)
