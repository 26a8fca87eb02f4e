"""Converts a slice of a log to an older magic while it is sent (KIP-283).

The input is a slice of a file. The output is exactly as many bytes as were promised, one buffer at a time.
"""
