"""The layouts that segments are stored in: a path or URI comes in, the logs of its partitions go out.

A log directory, Kafka's LocalTieredStorage and Aiven's tiered storage (KIP-405) are told apart by what is there.
Nothing is locked or written.
"""
