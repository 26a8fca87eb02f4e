"""One module a command of `stepdown bench`, and the contest that measures servers in turn."""
