"""Snappy of several xerial streams in a row, or with bytes after one, was refused; Kafka's own library reads it
(xerial/snappy-java#103, #104).

Odd streams of each codec: in parts, cut, with bytes after them, with sizes and checksums absent or wrong. What Kafka's
classes open is opened here to the same bytes. What they refuse may be opened here only where the test says so.
"""

import gzip
import struct
import zlib
from collections.abc import Iterator
from random import Random

import cramjam
import lz4.frame
import pytest
import zstandard
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.compression import xerial
from stepdown.protocol.records.compression.codecs import at_once_functions, compress, decompress
from stepdown.protocol.records.compression.lz4_frame import MAGIC as LZ4_MAGIC
from stepdown.protocol.records.layout import Codec
from support.java_oracle import JavaError

pytestmark = pytest.mark.java

MAGICS = (0, 1, 2)
MOST_BYTES = 1 << 24
TAILS = {"a byte": b"\0", "three bytes": b"\1\2\3", "four zeros": bytes(4), "text": b"a tail of some length, 40 bytes."}
DATA = {
    "nothing": b"",
    "one byte": b"x",
    "a little": b"what is compressed " * 20,
    "noise": Random(1).randbytes(3000),
    "much": b"".join(b"%d " % n for n in range(60_000)),
}

Streams = Iterator[tuple[str, bytes]]


def of_any(codec: Codec, magic: int) -> Streams:
    """Streams that every codec may be written as."""
    for name, data in DATA.items():
        usual = compress(codec, data, magic=magic)
        yield name, usual
        yield f"{name}, twice", usual + usual
        yield f"{name}, then nothing, then a little", usual + compress(codec, b"", magic=magic) + usual
        for tail_name, tail in TAILS.items():
            yield f"{name} and {tail_name}", usual + tail
            yield f"{name} twice and {tail_name}", usual + usual + tail
        for cut in (1, 4, 8, len(usual) // 2):
            yield f"{name} without {cut} bytes", usual[: max(0, len(usual) - cut)]
    yield "no bytes", b""


def of_snappy(magic: int) -> Streams:
    def chunk(data: bytes) -> bytes:
        packed = bytes(cramjam.snappy.compress_raw(data))
        return struct.pack(">i", len(packed)) + packed

    little, much = DATA["a little"], DATA["much"]
    header = xerial.HEADER
    yield "a raw block", bytes(cramjam.snappy.compress_raw(little))
    yield "a raw block and a byte", bytes(cramjam.snappy.compress_raw(little)) + b"\0"
    yield "a large chunk", header + chunk(much)
    yield "an empty chunk", header + chunk(b"") + chunk(little)
    yield "a chunk of no bytes", header + bytes(4) + chunk(little)
    yield "headers in a row", header * 3 + chunk(little)
    yield "a header at the end", header + chunk(little) + header
    yield "half a header at the end", header + chunk(little) + header[:10]
    yield "the beginning of a magic", header + chunk(little) + header[:4]
    yield "another magic of the same beginning", header + chunk(little) + header[:4] + b"other bytes" + chunk(little)
    yield "a negative chunk", header + struct.pack(">i", -5) + bytes(20)
    yield "a chunk above what is left", header + struct.pack(">i", 1 << 20) + bytes(20)
    for version, compatible in ((0, 0), (0, 1), (1, 0), (2, 1), (7, 9), (1, -1)):
        other = xerial.MAGIC + struct.pack(">ii", version, compatible)
        yield f"version {version}, compatible {compatible}", other + chunk(little)
        yield f"then version {version}, compatible {compatible}", header + chunk(b"a") + other + chunk(little)


def of_gzip(magic: int) -> Streams:
    little, much = DATA["a little"], DATA["much"]
    packed = gzip.compress(little, mtime=0)
    head, deflated = packed[:10], packed[10:]
    yield "without compression", gzip.compress(much, 0)
    yield "a name", head[:3] + b"\x08" + head[4:] + b"name\0" + deflated
    yield "a comment", head[:3] + b"\x10" + head[4:] + b"why\0" + deflated
    yield "an extra field", head[:3] + b"\x04" + head[4:] + b"\x03\0abc" + deflated
    with_sum = head[:3] + b"\x02" + head[4:]
    yield "a header checksum", with_sum + struct.pack("<H", zlib.crc32(with_sum) & 0xFFFF) + deflated
    yield "a wrong header checksum", with_sum + b"\0\0" + deflated
    yield "reserved flags", head[:3] + b"\xe0" + head[4:] + deflated
    yield "text flag", head[:3] + b"\x01" + head[4:] + deflated
    yield "a wrong checksum", packed[:-8] + b"\1\2\3\4" + packed[-4:]
    yield "a wrong size", packed[:-4] + b"\1\2\3\4"
    yield "another method", packed[:2] + b"\x07" + packed[3:]
    yield "a second member of another method", packed + packed[:2] + b"\x07" + packed[3:]
    yield "a second member that is cut", packed + packed[:12]
    yield "a second member with a wrong checksum", packed + packed[:-8] + b"\1\2\3\4" + packed[-4:]
    yield "zlib", zlib.compress(little)
    yield "zeros between members", packed + bytes(8) + packed


def of_lz4(magic: int) -> Streams:
    little, much = DATA["a little"], DATA["much"]
    for size in (0, 4, 5, 6, 7):
        for checked in (False, True):
            for blocks_checked in (False, True):
                for stored in (False, True):
                    framed = lz4.frame.compress(
                        much,
                        block_size=size,
                        block_linked=False,
                        content_checksum=checked,
                        block_checksum=blocks_checked,
                        store_size=stored,
                    )
                    name = f"blocks {size}, checksum {checked}, of blocks {blocks_checked}, size {stored}"
                    yield name, framed
                    if checked:
                        yield f"{name}, wrong", framed[:-4] + b"\1\2\3\4"
                        yield f"{name}, absent", framed[:-4]
                    yield f"{name}, no end mark", framed[: -8 if checked else -4]
    yield "linked blocks", lz4.frame.compress(much, block_linked=True)
    plain = lz4.frame.compress(little, block_linked=False, store_size=False)
    yield "a wrong header checksum", plain[:6] + bytes((plain[6] ^ 1,)) + plain[7:]
    yield "a skippable frame before it", struct.pack("<II", 0x184D2A50, 4) + b"skip" + plain
    yield "a wrong magic", b"\0" + plain[1:]
    yield "the legacy magic", struct.pack("<I", 0x184C2102) + plain[4:]
    for flags in (0x20, 0x40, 0x44, 0x61, 0x62, 0xA0, 0xE0):
        yield f"flags {flags:02x}", LZ4_MAGIC + bytes((flags,)) + plain[5:]
    for descriptor in (0x00, 0x30, 0x41, 0xC0):
        yield f"descriptor {descriptor:02x}", LZ4_MAGIC + plain[4:5] + bytes((descriptor,)) + plain[6:]


def of_zstd(magic: int) -> Streams:
    little, much = DATA["a little"], DATA["much"]
    for sized in (False, True):
        for checked in (False, True):
            packed = zstandard.ZstdCompressor(write_content_size=sized, write_checksum=checked).compress(much)
            yield f"size {sized}, checksum {checked}", packed
            if checked:
                yield f"size {sized}, wrong checksum", packed[:-4] + b"\1\2\3\4"
                yield f"size {sized}, no checksum", packed[:-4]
    packed = zstandard.compress(little)
    skippable = struct.pack("<II", 0x184D2A53, 4) + b"skip"
    yield "a skippable frame before it", skippable + packed
    yield "a skippable frame after it", packed + skippable
    yield "skippable frames alone", skippable * 2
    yield "a wrong magic", b"\0" + packed[1:]
    yield (
        "a large window",
        zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27)).compress(
            little
        ),
    )


STREAMS = {Codec.GZIP: of_gzip, Codec.SNAPPY: of_snappy, Codec.LZ4: of_lz4, Codec.ZSTD: of_zstd}
CASES = [
    pytest.param(codec, magic, id=f"{codec.name.lower()} v{magic}")
    for codec in STREAMS
    for magic in MAGICS
    if codec is not Codec.ZSTD or magic == 2
]


def opened_here(codec: Codec, magic: int, stream: bytes) -> bytes | str:
    try:
        return bytes(decompress(codec, stream, magic=magic, max_bytes=MOST_BYTES))
    except ApiError as fault:
        return f"refused: {fault}"


def opened_there(oracle: object, codec: Codec, magic: int, stream: bytes) -> bytes | str:
    try:
        return oracle.call("Records.open", bytes((codec, magic)) + stream)  # type: ignore[attr-defined,no-any-return]
    except JavaError as fault:
        return f"refused: {fault.simple_name} {fault.message}"


def said(result: bytes | str) -> str:
    return result if isinstance(result, str) else f"{len(result)} bytes"


@pytest.mark.parametrize(("codec", "magic"), CASES)
def test_what_kafka_opens_is_opened_to_the_same(java_oracle: object, codec: Codec, magic: int) -> None:
    oracle = java_oracle("records")  # type: ignore[operator]
    found = []
    for name, stream in (*of_any(codec, magic), *STREAMS[codec](magic)):
        theirs, mine = opened_there(oracle, codec, magic, stream), opened_here(codec, magic, stream)
        if isinstance(theirs, bytes) and mine != theirs:
            found.append(f"{name}: Kafka {said(theirs)}, here {said(mine)}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("codec", STREAMS, ids=lambda codec: codec.name.lower())
def test_opening_in_one_step_opens_no_other_bytes(codec: Codec) -> None:
    """Where it does not leave the stream to the reader, it gives what that gives."""
    ways = at_once_functions(codec)
    assert ways is not None
    for name, stream in (*of_any(codec, 2), *STREAMS[codec](2)):
        try:
            opened = ways[0](memoryview(stream), 128 * 1024)
        except ApiError:
            assert isinstance(opened_here(codec, 2, stream), str), name
        else:
            assert opened is None or bytes(opened) == opened_here(codec, 2, stream), name
