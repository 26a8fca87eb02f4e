"""LZ4 frames as Kafka writes and reads them.

    magic 04 22 4D 18 | FLG | BD | content size (8, if flagged) | HC | blocks | end mark (4 zeros) | content checksum
    block: int32 little-endian length, top bit set when stored raw | data | XXH32 of the data (4, if flagged)

HC is the second byte of XXH32 over FLG..content size. Kafka 0.8.2-0.9 computes it over the 4 magic bytes as well and
checks that; so magic 0 is written with that broken byte and read without a check of it. Kafka writes FLG 0x60 and
BD 0x40 (independent blocks of 64 KiB, no checksums). Only the first frame is read; the content checksum is not
checked. Source: Kafka 3.9, Lz4BlockOutputStream, Lz4BlockInputStream.
"""

from collections.abc import Iterator

from ...errors import InvalidRecord
from ..kernel import xxh32
from ..kernel.block_decompression import LZ4_BROKEN_HEADER, LZ4_HEADER
from ..record import Buffer
from .block_writer import BlockWriter

MAGIC = LZ4_HEADER[:4]
HEADER = LZ4_HEADER
BROKEN_HEADER = LZ4_BROKEN_HEADER
END_MARK = bytes(4)
BLOCK_BYTES = 64 * 1024
DEFAULT_LEVEL = 9  # Kafka's number for the fast compressor; other levels mean the high-compression one

_VERSION_MASK, _VERSION = 0xC0, 0x40
_INDEPENDENT = 0x20
_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_RESERVED_FLG = 0x03
_RESERVED_BD = 0x8F
_RAW_BLOCK = 0x80000000


class Lz4FrameWriter(BlockWriter):
    """Appends one frame to a bytearray."""

    def __init__(self, out: bytearray, *, broken_checksum: bool, level: int | None) -> None:
        import lz4.block

        super().__init__(BLOCK_BYTES)
        self._compress = lz4.block.compress
        self._mode: dict[str, str | int] = {"mode": "default"}
        if level is not None and level != DEFAULT_LEVEL:
            self._mode = {"mode": "high_compression", "compression": level}
        self._out = out
        out += BROKEN_HEADER if broken_checksum else HEADER

    def finish(self) -> None:
        super().finish()
        self._out += END_MARK

    def write_block(self, block: Buffer) -> None:
        packed = self._compress(block, store_size=False, **self._mode)
        if len(packed) < len(block):
            self._out += len(packed).to_bytes(4, "little")
            self._out += packed
        else:
            self._out += (len(block) | _RAW_BLOCK).to_bytes(4, "little")
            self._out += block


def decompress_frame(data: memoryview, *, check_header: bool) -> Iterator[Buffer]:
    """Yield the blocks of the first frame, each at most the frame's block size.

    Raises: InvalidRecord for a header, a block or a checksum that Kafka's reader refuses.
    """
    import lz4.block

    at, block_checksum, max_block = _read_header(data, check_header=check_header)
    while True:
        if len(data) - at < 4:
            raise InvalidRecord("an LZ4 frame ends early")
        word = int.from_bytes(data[at : at + 4], "little")
        at += 4
        size = word & ~_RAW_BLOCK
        if size == 0:
            return
        if size > max_block or size > len(data) - at - 4 * block_checksum:
            raise InvalidRecord(f"an LZ4 block of {size} bytes, at most {min(max_block, len(data) - at)} fit")
        block = data[at : at + size]
        at += size
        if block_checksum:
            if xxh32(block) != int.from_bytes(data[at : at + 4], "little"):
                raise InvalidRecord("an LZ4 block does not match its checksum")
            at += 4
        if word & _RAW_BLOCK:
            yield block
            continue
        try:
            yield lz4.block.decompress(block, uncompressed_size=max_block)
        except lz4.block.LZ4BlockError as error:
            raise InvalidRecord(f"broken LZ4 block: {error}") from error


def compress_at_once(data: memoryview, out: bytearray, at: int, magic: int) -> int:
    """Write the frame that `Lz4FrameWriter` makes of `data` into `out`, which has room, and return where it ends."""
    import lz4.block

    compress = lz4.block.compress
    out[at : at + len(HEADER)] = HEADER if magic else BROKEN_HEADER
    at += len(HEADER)
    for begin in range(0, len(data), BLOCK_BYTES):
        block: Buffer = data[begin : begin + BLOCK_BYTES]
        size = word = len(block)
        packed = compress(block, store_size=False)
        if len(packed) < size:
            block, size = packed, len(packed)
            word = size
        else:
            word |= _RAW_BLOCK
        out[at : at + 4] = word.to_bytes(4, "little")
        out[at + 4 : at + 4 + size] = block
        at += 4 + size
    out[at : at + 4] = END_MARK
    return at + 4


def decompress_at_once(data: memoryview, max_bytes: int) -> Buffer | None:
    """Returns the decompressed frame; None if it is larger than `max_bytes` or a block may be larger than 64 KiB.

    Raises: as `decompress_frame` does.
    """
    if data[: len(HEADER)] != HEADER and _read_header(data, check_header=True)[2] > BLOCK_BYTES:
        return None
    blocks, size = [], 0
    for block in decompress_frame(data, check_header=True):
        size += len(block)
        if size > max_bytes:
            return None
        blocks.append(block)
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _read_header(data: memoryview, *, check_header: bool) -> tuple[int, bool, int]:
    """Return where the first block begins, whether blocks carry checksums, and the largest block."""
    if data[: len(HEADER)] == HEADER:
        return len(HEADER), False, BLOCK_BYTES
    if len(data) < 7:
        raise InvalidRecord("an LZ4 frame ends early")
    if data[:4] != MAGIC:
        raise InvalidRecord("not an LZ4 frame")
    flg, bd = data[4], data[5]
    if flg & _VERSION_MASK != _VERSION or not flg & _INDEPENDENT or flg & _RESERVED_FLG:
        raise InvalidRecord(f"an LZ4 frame with flags 0x{flg:02x}")
    if bd & _RESERVED_BD or bd < 0x40:
        raise InvalidRecord(f"an LZ4 frame with block descriptor 0x{bd:02x}")
    at = 14 if flg & _CONTENT_SIZE else 6
    if len(data) <= at:
        raise InvalidRecord("an LZ4 frame ends early")
    if check_header and data[at] != xxh32(data[4:at]) >> 8 & 0xFF:
        raise InvalidRecord("the checksum of an LZ4 frame descriptor is wrong")
    return at + 1, bool(flg & _BLOCK_CHECKSUM), 1 << (8 + 2 * (bd >> 4))
