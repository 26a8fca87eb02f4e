"""Committed offsets: commits, reads, expiration."""
