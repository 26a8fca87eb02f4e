"""Sends a test's own requests to brokers, and waits for expected results."""
