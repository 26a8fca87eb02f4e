"""`stepdown metadata`: has the metadata of log directories fit for Kafka, as `storage/migration/` decides it."""
