"""Authorization of clients, and their stored SCRAM credentials."""
