"""Secured listeners for tests: makes settings for brokers and clients from a protocol and users."""
