"""Reads Kafka's data in ZooKeeper, from the files of a stopped ZooKeeper or from a live one.

`data_directory` and `live_zookeeper` read the tree of nodes, `kafka_cluster` decodes Kafka's data in it.
"""
