"""What Python sees of item.py, which is typed for Cython."""

COMPILED: bool

class Item:
    offset: int
    timestamp: int
    magic: int
    attributes: int
    key_at: int
    key_size: int
    value_at: int
    value_size: int
    headers_at: int
    header_count: int
