"""The name by which Spark finds stepdown: it imports each `pyspark_*` package it sees and takes its `DefaultSource`."""

from stepdown.pipeline.sources.records import KafkaSegments

DefaultSource = KafkaSegments

__all__ = ["DefaultSource"]
