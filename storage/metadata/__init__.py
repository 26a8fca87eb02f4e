"""What survives a restart and is in no partition's folder: the state of the cluster, in Kafka's metadata log."""
