"""Which partition a record goes to."""
