"""Groups between the classic and the consumer protocol while they have members."""
