"""Scenarios: runs steps from YAML, on a clock that only steps advance, and returns the events as lines.

`classics/` has well-known ones: `stepdown scenario run lost-acknowledgement`.
"""
