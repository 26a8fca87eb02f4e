"""The log directories of a broker: identity, the logs in them, moves between them, metadata that survives a restart."""
