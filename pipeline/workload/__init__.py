"""Seeded load: the same records each time, straight into a log directory or through a broker."""
