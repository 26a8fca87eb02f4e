"""The producer's metrics under Kafka's names, and for Prometheus."""
