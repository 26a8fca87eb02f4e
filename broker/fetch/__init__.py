"""Fetch: what is read of which partition, sessions (KIP-227), what is converted down (KIP-283), and the response."""
