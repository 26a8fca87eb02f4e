"""`stepdown bench`: the options of each benchmark come in, tables, JSON lines and reports of results go out.

The measuring itself is in `stepdown.bench`.
"""
