"""Groups of the consumer protocol (KIP-848): heartbeats, the target assignment, reconciliation."""
