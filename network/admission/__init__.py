"""Limits for memory, descriptors and log lines, shared fairly by network, and which connection has to give way."""
