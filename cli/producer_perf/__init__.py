"""`stepdown producer-perf`: writes records of a given size and number, and prints throughput and latency.

With `--compare java` Kafka's own tool runs as well.
"""
