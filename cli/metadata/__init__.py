"""`stepdown metadata`: `preparation` decides what Kafka of a release does not take, `commands` writes and prints."""
