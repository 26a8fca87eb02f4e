"""What `__consumer_offsets` holds: where group records are written, and how they are read back at the start."""
