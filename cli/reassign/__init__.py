"""`stepdown reassign`: moves partitions to other brokers, by the JSON of `kafka-reassign-partitions.sh`."""
