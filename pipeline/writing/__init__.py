"""Writes segment files without Spark: rows of Arrow batches come in, whole logs in a log directory go out.

Logs are written under names that brokers ignore, then renamed.
"""
