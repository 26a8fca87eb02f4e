"""`stepdown acls`: access rules come in, what became of them goes out.

`commands` parses options and prints, `requests` asks the broker.
"""
