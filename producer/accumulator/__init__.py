"""Records on their way into batches, and batches until they may be sent."""
