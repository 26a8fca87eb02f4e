"""What a test asks brokers as a client does, and how it waits for what is to come."""
