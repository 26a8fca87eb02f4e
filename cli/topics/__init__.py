"""`stepdown topics`: names and settings of topics come in, outcomes and descriptions go out.

`commands` parses options and prints, `requests` asks the broker.
"""
