"""The sources of settings at the start: a .properties file, environment variables, `-o KEY=VALUE` options.

Each module parses a source to keys with their texts and origins. It does not check whether a key exists or its text is
valid.
"""
