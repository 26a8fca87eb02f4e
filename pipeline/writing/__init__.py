"""Records into segment files, without Spark: batches, folders that are not yet logs, and how they become logs."""
