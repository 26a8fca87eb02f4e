"""The producer state of a log (KIP-98): sequence numbers, open transactions, snapshots."""
