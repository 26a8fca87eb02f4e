"""`stepdown groups`: names of consumer groups come in, their state, members and offsets go out.

`commands` parses options and prints, `requests` asks the broker.
"""
