"""What a key is: its name, type, range, default, documentation, and when it may change.

The text of a value comes in, the parsed and checked value goes out. The keys themselves are in `tables`.
"""
