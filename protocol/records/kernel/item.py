# cython: language_level=3
"""Where the parts of the record or message lie that was read last."""

import cython

COMPILED: bool = cython.compiled


class Item:
    """One record or message; a null key or value has size -1.

    offset, timestamp             a message's own; a record's are deltas
    magic, attributes             of a message
    key_at, key_size              where the key lies, likewise the value
    value_at, value_size
    headers_at, header_count      of a record
    """
