"""The name by which Spark finds `kafka-segments`: it takes one `DefaultSource` of each `pyspark_*` package it sees."""

from stepdown.pipeline.sources.kafka_segments import KafkaSegments

DefaultSource = KafkaSegments

__all__ = ["DefaultSource"]
