"""Sends a test's own requests to brokers, with settings as Kafka writes them, and waits for expected results."""
