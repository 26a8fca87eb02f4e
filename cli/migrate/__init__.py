"""`stepdown migrate`: `commands` parses, asks `storage/migration/` for the work, and prints."""
