"""`stepdown migrate`: `commands` parses and prints; `storage/migration/` does the work."""
