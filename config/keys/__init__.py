"""Defines keys: name, type, range, default, documentation, update mode; parses and checks their values.

The keys themselves are in `tables`.
"""
