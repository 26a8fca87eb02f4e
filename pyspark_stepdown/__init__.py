"""The name by which Spark finds `kafka-segments`: it takes one `DefaultSource` of each `pyspark_*` package it sees."""

from stepdown.pipeline.sources.records import KafkaSegments

DefaultSource = KafkaSegments

__all__ = ["DefaultSource"]
