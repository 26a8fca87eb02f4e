"""The record formats, the same on the wire and on disk."""
