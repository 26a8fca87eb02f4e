"""`stepdown transactions`: transactional ids come in, their state, or the outcome of an abort, goes out.

`commands` parses options and prints, `requests` asks the broker.
"""
