"""The servers that are measured: stepdown and Kafka as processes, Kafka's jars, what /proc and /metrics say of them."""
