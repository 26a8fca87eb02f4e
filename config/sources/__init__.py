"""Where values come from at the start: a .properties file, environment variables, `-o KEY=VALUE` of the command line.

The text of a source comes in, keys with their texts and origins go out. Whether a key exists and its text is valid is
decided above.
"""
