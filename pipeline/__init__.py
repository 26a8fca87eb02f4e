"""The data pipeline on Spark: read, count, convert and keep Kafka segments.

`reading/` turns segment files into Arrow without Spark; `sources/` shows them to Spark; the other folders and modules
are jobs. Nothing here is imported by a broker.
"""
