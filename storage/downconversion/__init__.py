"""A slice of a log that is converted to an older magic while it is sent (KIP-283).

A slice of a file enters; bytes of exactly the promised size leave, a buffer at a time.
"""
