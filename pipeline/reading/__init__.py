"""Reads segment files without Spark: a log directory comes in, splits and their rows as Arrow batches go out.

Offset and time indexes say where a split may begin; nothing is locked or written.
"""
