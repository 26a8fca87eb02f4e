"""`stepdown config`: names of settings come in, their types, defaults, ranges and docs go out.

The output is text, JSON, or the Markdown of docs/configuration.md.
"""
