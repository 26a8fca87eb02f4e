"""The name by which Spark finds `kafka-batches`: it takes one `DefaultSource` of each `pyspark_*` package it sees."""

from stepdown.pipeline.sources.kafka_batches import KafkaBatches

DefaultSource = KafkaBatches

__all__ = ["DefaultSource"]
