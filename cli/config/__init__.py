"""`stepdown config`: takes names of settings, and prints their types, defaults, ranges and docs.

The output is text, JSON, or the Markdown of docs/configuration.md.
"""
