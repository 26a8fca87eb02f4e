"""Measuring stepdown, and beside it Apache Kafka: `stepdown bench`, and the maintainers' questions.

`servers/` runs what is measured, `load/` asks of it, `cases/` has one module a command, `alternating_runs.py` measures
servers in turn, `results/` notes and draws what was found, `reference/` holds it against the bars, `questions/` has
scripts that answer one question each.
"""
