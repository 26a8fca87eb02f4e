"""What a running cluster has: `stepdown cluster`, `log-dirs`, `offsets` and `delete-records`."""
