"""`stepdown gateway`: translates requests that Kafka 4 removed, in front of a cluster."""
