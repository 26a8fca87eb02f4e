"""The tables of keys, one file for each noun that they set."""
