"""Fetch: reading partitions, sessions (KIP-227), down-conversion (KIP-283), and the response."""
