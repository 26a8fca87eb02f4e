"""What Python sees of record_encoding.py, which is itself typed for Cython, which checks it."""

from collections.abc import Iterable
from typing import Final

from ..protocol.records.record import Header

COMPILED: bool
NO_HEADERS: Final[bytes]
MAX_RECORD_OVERHEAD: Final[int]

def most_bytes(key_size: int, value_size: int, headers_size: int) -> int: ...
def encode_headers(headers: Iterable[Header]) -> bytes: ...
