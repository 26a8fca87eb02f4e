"""Snappy as snappy-java frames it, and the unframed block that some other producers send.

    82 53 4E 41 50 50 59 00 | int32 version 1 | int32 compatible version 1 | chunks
    chunk: int32 big-endian length | raw snappy block

Chunks that are written here have 32 KiB of data, others any size; the versions are not checked. Another stream may
follow (xerial/snappy-java#103). Up to three bytes after the last chunk are ignored, and so is all data from
82 53 4E 41 on if that does not begin a header. Data without the header is one raw block (some non-Java producers).
A raw block begins with its opened length as an unsigned varint.
Source: snappy-java 1.1.10, SnappyOutputStream and SnappyInputStream.
"""

import threading
from collections.abc import Iterator
from functools import cache
from struct import Struct
from typing import Any

from ...errors import InvalidRecord, RecordTooLarge
from ..kernel.block_decompression import SNAPPY_HEADER
from ..record import Buffer
from .block_writer import BlockWriter

HEADER = SNAPPY_HEADER
MAGIC = HEADER[:8]
BLOCK_BYTES = 32 * 1024
AT_ONCE_BYTES = 128 * 1024  # the most that `decompress_at_once` opens

_CHUNK_BYTES = Struct(">I")
# The most that a block of 32 KiB can become, as snappy reckons it.
_PACKED_BYTES = 32 + BLOCK_BYTES + BLOCK_BYTES // 6

_MAGIC_HEAD = int.from_bytes(MAGIC[:4], "big")
# A copy element of 3 bytes makes 64 bytes, the densest there is.
_MAX_EXPANSION = 22


class _ThreadBuffers(threading.local):
    """A thread's buffers, and the functions of the library: an import for each block would double its cost."""

    def __init__(self) -> None:
        import cramjam

        self.packed = bytearray(_PACKED_BYTES)
        self.opened = memoryview(bytearray(AT_ONCE_BYTES))
        self.compress: Any = cramjam.snappy.compress_raw_into
        self.open: Any = cramjam.snappy.decompress_raw_into
        self.error = cramjam.DecompressionError


@cache
def _of_thread() -> _ThreadBuffers:
    """Made by the first use, so that a process which opens no snappy does not import the library."""
    return _ThreadBuffers()


class XerialWriter(BlockWriter):
    """Appends one xerial stream to a bytearray."""

    def __init__(self, out: bytearray) -> None:
        super().__init__(BLOCK_BYTES)
        self._out = out
        out += HEADER

    def write_block(self, block: Buffer) -> None:
        kept = _of_thread()
        packed = kept.packed
        size = kept.compress(block, packed)
        self._out += size.to_bytes(4, "big")
        self._out += memoryview(packed)[:size]


def decompress_stream(data: memoryview, max_bytes: int) -> Iterator[Buffer]:
    """Yields each decompressed chunk as a view that the next chunk overwrites.

    Raises: InvalidRecord for a broken stream, RecordTooLarge when one chunk alone says it exceeds `max_bytes`.
    """
    blocks = _BlockDecompressor(max_bytes)
    if data[:8] != MAGIC:
        yield blocks.open(data)
        return
    at = 0
    while len(data) - at >= 4:
        size = int.from_bytes(data[at : at + 4], "big")
        if size == _MAGIC_HEAD:  # of the first stream, or of one that follows it
            if at and len(data) - at >= len(HEADER) and data[at : at + 8] != MAGIC:
                return
            at += len(HEADER)
            if at > len(data):
                raise InvalidRecord("a snappy stream ends early")
            continue
        at += 4
        if not 0 < size <= len(data) - at:
            raise InvalidRecord(f"a snappy chunk of {size} bytes where {max(0, len(data) - at)} are left")
        yield blocks.open(data[at : at + size])
        at += size


def compress_at_once(data: memoryview, out: bytearray, at: int, magic: int) -> int:
    """Write the stream that `XerialWriter` makes of `data` into `out`, which has room, and return where it ends."""
    compress, room = _of_thread().compress, memoryview(out)
    out[at : at + len(HEADER)] = HEADER
    at += len(HEADER)
    for begin in range(0, len(data), BLOCK_BYTES):
        size = compress(data[begin : begin + BLOCK_BYTES], room[at + 4 :])
        room[at : at + 4] = size.to_bytes(4, "big")
        at += 4 + size
    return at


def decompress_at_once(data: memoryview, max_bytes: int) -> Buffer | None:
    """Returns the decompressed stream in the thread's buffer; None if it is above `max_bytes` or is no usual stream.

    Raises: InvalidRecord for a broken block.
    """
    at, end, to = len(HEADER), len(data), 0
    if data[:8] != MAGIC or end <= at:
        return None
    opened = _of_thread().opened[:max_bytes]
    while at < end - 4:
        size = _CHUNK_BYTES.unpack_from(data, at)[0]
        block = data[at + 4 : at + 4 + size]
        at += 4 + size
        if at > end or _content_size(block) > len(opened) - to:
            return None
        to += _decompress_block(block, opened[to:])
    return opened[:to] if at == end else None


class _BlockDecompressor:
    """Decompresses raw blocks into one buffer, which is used again for each block."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def open(self, block: memoryview) -> Buffer:
        size = _content_size(block)
        if size > self._max_bytes:
            raise RecordTooLarge(f"a snappy batch opens to more than the limit of {self._max_bytes} bytes")
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        return memoryview(self._buffer)[: _decompress_block(block, self._buffer)]


def _decompress_block(block: memoryview, buffer: bytearray | memoryview) -> int:
    """Decompresses a block into the buffer; returns its size. Raises: InvalidRecord for a broken block."""
    kept = _of_thread()
    try:
        opened: int = kept.open(block, buffer)
    except kept.error as error:
        raise InvalidRecord(f"broken snappy block: {error}") from error
    return opened


def _content_size(block: memoryview) -> int:
    """Returns the decompressed length that a raw block claims. Raises: InvalidRecord for one it cannot have."""
    size = 0
    for index, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if size > len(block) * _MAX_EXPANSION:
                raise InvalidRecord(f"a snappy block of {len(block)} bytes cannot open to {size}")
            return size
    raise InvalidRecord("a snappy block without a length")
