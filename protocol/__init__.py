"""Bytes to values and back: no socket, file, clock, loop or setting."""
