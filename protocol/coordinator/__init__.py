"""What coordinators write to their topics, `__consumer_offsets` first: keys and values in Kafka's bytes."""
