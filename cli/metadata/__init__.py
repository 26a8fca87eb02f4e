"""`stepdown metadata`: makes the metadata of log directories readable for Kafka, by `storage/migration/`."""
