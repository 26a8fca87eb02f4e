"""The state of the cluster that survives a restart: topics, configs, users and more, kept in Kafka's metadata log."""
