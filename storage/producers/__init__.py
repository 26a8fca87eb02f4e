"""What a log remembers of producers (KIP-98): sequences, open transactions, snapshots."""
