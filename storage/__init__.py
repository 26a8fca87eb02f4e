"""Partitions on disk, byte for byte as Kafka lays them out."""
