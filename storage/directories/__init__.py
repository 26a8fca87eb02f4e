"""The log directories of a broker: their identity, the logs in them, checkpoints, and moves of logs between them."""
