"""What Kafka kept in ZooKeeper: read from ZooKeeper's files at rest or from a live server, and understood.

`data_directory` and `live_zookeeper` give a tree of nodes, `kafka_cluster` what Kafka wrote into it.
"""
