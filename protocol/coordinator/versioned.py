"""A message behind its own version: int16 version, then the message in that version (Kafka 3.9, MessageUtil)."""

from ..errors import MalformedFrame
from ..schema import encode

VERSION_BYTES = 2


def encode_with_version(value: object, version: int) -> bytes:
    """The version and the bytes of `value`, which holds no record sets."""
    pieces = encode(value, version, bytearray(version.to_bytes(VERSION_BYTES, "big")))
    return b"".join(piece for piece in pieces if isinstance(piece, bytes | bytearray | memoryview))


def split_version(data: bytes | memoryview) -> tuple[int, memoryview]:
    """The version and a view of the message. Raises: MalformedFrame when there are no two bytes."""
    view = memoryview(data)
    if len(view) < VERSION_BYTES:
        raise MalformedFrame(f"{len(view)} bytes where a version of {VERSION_BYTES} bytes was expected")
    return int.from_bytes(view[:VERSION_BYTES], "big", signed=True), view[VERSION_BYTES:]
