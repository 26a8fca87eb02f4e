"""One module a command of `stepdown bench`."""
