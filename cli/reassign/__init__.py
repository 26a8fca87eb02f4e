"""`stepdown reassign`: partitions to other brokers, by the JSON that `kafka-reassign-partitions.sh` takes."""
