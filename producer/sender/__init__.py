"""Batches on their way to brokers: which go next, and what the answers make of them."""
