"""Scenarios: steps on a clock that stands between them come in, as YAML; what happened goes out, line by line.

`classics/` has those that everybody meets once: `stepdown scenario run lost-acknowledgement`.
"""
