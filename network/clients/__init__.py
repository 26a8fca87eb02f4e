"""The client report: the clients of a server, their requests, what they lose, and whether Kafka 4 would answer them.

A server has one `ClientReport`. A `SeenClient` counts what a client does, a `ClientRow` shows it.
"""
