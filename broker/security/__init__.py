"""What a client may do, and the SCRAM credentials that are stored for it."""
