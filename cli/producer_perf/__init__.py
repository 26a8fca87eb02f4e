"""`stepdown producer-perf`: the size and number of records come in, throughput and latency of writing them go out.

With `--compare java` Kafka's own tool runs as well.
"""
