"""The controller of a cluster in one process: it decides which brokers live, and each partition's replicas and leader.

The input is brokers that start and stop, and requests of administrators; the output is changed partition records, to
the store first and then to every broker.
"""
