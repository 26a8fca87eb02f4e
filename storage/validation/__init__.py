"""Validates the record sets of produce requests and converts them to magic 2 (Kafka's LogValidator)."""
