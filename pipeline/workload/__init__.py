"""The job `workload`: settings and a seed come in, the same records go out each time.

They go straight into a log directory, or to a broker through Spark's Kafka connector.
"""
