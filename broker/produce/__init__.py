"""Produce: record sets appended to partitions, the wait for replicas, and the response."""
