"""Commands on a running cluster: `stepdown cluster`, `log-dirs`, `offsets` and `delete-records`."""
