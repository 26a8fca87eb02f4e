"""Spark's data sources `kafka-segments` and `kafka-batches`: options and schemas come in, rows as Arrow batches go out.

`kafka-segments` also reads streams and writes new logs.
"""

from pyspark.sql import SparkSession

from .kafka_batches import KafkaBatches
from .kafka_segments import KafkaSegments

SOURCES = (KafkaSegments, KafkaBatches)


def register(session: SparkSession) -> None:
    """Make the data sources known to a session of a Spark that does not look into the place where stepdown lies."""
    for source in SOURCES:
        session.dataSource.register(source)
