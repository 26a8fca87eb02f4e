"""Codecs, streaming and bounded: input is fed in pieces of 16 KiB, output is counted against a limit.

| codec | v0 | v1 | v2 | framing |
|---|---|---|---|---|
| gzip 1 | yes | yes | yes | RFC 1952; members may follow one another |
| snappy 2 | yes | yes | yes | xerial stream, or one bare raw block (`xerial.py`) |
| lz4 3 | broken header checksum | right | right | LZ4 frame (`lz4_frame.py`) |
| zstd 4 | never | never | yes | zstd frames |

Source: Kafka 3.9, org.apache.kafka.common.compress. The libraries are imported on first use, so an idle broker never
loads them.
Each call has its own compressor or decompressor, because threads must not share one. Decompressors of zstd are kept
for later calls, since making one takes a third of the time of decompressing 16 KiB.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, Protocol

from ...errors import InvalidRecord, RecordTooLarge, UnsupportedCompression
from ..layout import MAGIC_V2, Codec
from ..record import Buffer
from . import lz4_frame, xerial

FEED_BYTES = 16 * 1024
CHUNK_BYTES = 64 * 1024
AT_ONCE_BYTES = xerial.AT_ONCE_BYTES
GZIP_WINDOW = 31  # 15 bits of window, with the gzip header and trailer
GZIP_MAGIC = b"\x1f\x8b\x08"
LEAST_GZIP_BYTES = 18  # header and trailer of a member
DEFAULT_ZSTD_LEVEL = 3
MAX_IDLE_ZSTD = 2
MAX_IDLE_ZSTD_BYTES = 4 << 20  # a stream's window stays allocated: 2 MiB for those of Kafka's Java client
AT_ONCE_GZIP_LEVEL = 1  # of 0-3: takes a tenth less time than 2, and makes 2 % more

DecompressAtOnce = Callable[[memoryview, int], Buffer | None]
CompressAtOnce = Callable[[memoryview, bytearray, int, int], int]


class Compressor(Protocol):
    """Compresses the chunks of one stream into a bytearray; `finish` appends the last bytes."""

    def write(self, chunk: Buffer) -> None: ...

    def finish(self) -> None: ...


def make_compressor(codec: Codec, out: bytearray, *, magic: int, level: int | None = None) -> Compressor:
    """Return a compressor that appends to `out`; `level` is Kafka's number, None its default.

    Raises: UnsupportedCompression for zstd below magic 2.
    """
    if codec is Codec.ZSTD and magic < MAGIC_V2:
        raise UnsupportedCompression(f"magic {magic} has no zstd")
    if codec is Codec.NONE:
        return _UncompressedWriter(out)
    if codec is Codec.SNAPPY:
        return xerial.XerialWriter(out)
    if codec is Codec.LZ4:
        return lz4_frame.Lz4FrameWriter(out, broken_checksum=magic == 0, level=level)
    return _CodecStream(out, _make_gzip_compressor(level) if codec is Codec.GZIP else _make_zstd_compressor(level))


def compress(codec: Codec, data: Buffer | Iterable[Buffer], *, magic: int, level: int | None = None) -> bytes:
    """Return the compressed form of bytes, or of an iterable of chunks."""
    out = bytearray()
    writer = make_compressor(codec, out, magic=magic, level=level)
    # In one piece: many small pieces make isal's output up to four times as large.
    writer.write(data if isinstance(data, bytes | bytearray | memoryview) else b"".join(data))
    writer.finish()
    return bytes(out)


def decompress_in_chunks(codec: Codec, data: Buffer, *, magic: int, max_bytes: int) -> Iterator[Buffer]:
    """Yields the decompressed bytes of `data` in pieces; a piece may be overwritten when the next one is taken.

    Pieces are 64 KiB at most, except raw snappy blocks and large LZ4 blocks (4 MiB), which are decompressed whole.

    Raises: RecordTooLarge as soon as more than `max_bytes` would come out, InvalidRecord for a broken stream.
    """
    if codec is Codec.ZSTD and magic < MAGIC_V2:
        raise InvalidRecord(f"zstd in a batch of magic {magic}")
    left = max_bytes
    for chunk in _choose_reader(codec)(memoryview(data), magic, max_bytes):
        left -= len(chunk)
        if left < 0:
            raise RecordTooLarge(f"a {codec.name.lower()} batch opens to more than the limit of {max_bytes} bytes")
        yield chunk


def at_once_functions(codec: int) -> tuple[DecompressAtOnce, CompressAtOnce | None] | None:
    """Return two functions: one decompresses a whole stream in one call, the other compresses one. None: no such codec.

    Decompressing takes the stream of a v2 batch and a limit of up to 128 KiB. It returns the decompressed bytes, valid
    until this thread's next call; or None, for an unusual stream or one above the limit: then use
    `decompress_in_chunks`. Raises InvalidRecord for a broken stream.

    Compressing takes the data, a buffer with room for 7/6 of the data plus 1 KiB, the position in that buffer to write
    to, and the magic; it returns where the stream ends. Snappy and LZ4 write what `make_compressor` does. For
    zstd it is None, since magic 0 and 1 do not know zstd.
    """
    return _AT_ONCE.get(codec)


def decompress(codec: Codec, data: Buffer, *, magic: int, max_bytes: int) -> Buffer:
    """Returns all decompressed bytes of `data`. Raises: as `decompress_in_chunks` does."""
    if codec is Codec.NONE:
        return data
    opened = bytearray()
    for chunk in decompress_in_chunks(codec, data, magic=magic, max_bytes=max_bytes):
        opened += chunk
    return opened


def _choose_reader(codec: Codec) -> Callable[[memoryview, int, int], Iterator[Buffer]]:
    return {
        Codec.NONE: lambda data, magic, most: iter((data,)),
        Codec.GZIP: _read_gzip,
        Codec.SNAPPY: lambda data, magic, most: xerial.decompress_stream(data, most),
        Codec.LZ4: lambda data, magic, most: lz4_frame.decompress_frame(data, check_header=magic > 0),
        Codec.ZSTD: _read_zstd,
    }[codec]


class _UncompressedWriter:
    def __init__(self, out: bytearray) -> None:
        self._out = out

    def write(self, chunk: Buffer) -> None:
        self._out += chunk

    def finish(self) -> None:
        pass


class _CodecStream:
    """A library's object with `compress` and `flush`."""

    def __init__(self, out: bytearray, stream: Any) -> None:
        self._out = out
        self._stream = stream

    def write(self, chunk: Buffer) -> None:
        self._out += self._stream.compress(chunk)

    def finish(self) -> None:
        self._out += self._stream.flush()


def _make_gzip_compressor(level: int | None) -> Any:
    """Maps zlib's levels 1-9 to isal's 0-3; -1 is Kafka's number for the default."""
    from isal import isal_zlib

    if level is None or level < 0:
        return isal_zlib.compressobj(isal_zlib.ISAL_DEFAULT_COMPRESSION, wbits=GZIP_WINDOW)
    return isal_zlib.compressobj(min(3, (level + 2) // 3), wbits=GZIP_WINDOW)


def _make_zstd_compressor(level: int | None) -> Any:
    import zstandard

    return zstandard.ZstdCompressor(level=DEFAULT_ZSTD_LEVEL if level is None else level).compressobj()


def _read_gzip(data: memoryview, magic: int, max_bytes: int) -> Iterator[Buffer]:
    """Reads all members, as java.util.zip does; bytes that begin no member end the stream."""
    from isal import isal_zlib

    member, at = isal_zlib.decompressobj(GZIP_WINDOW), 0
    try:
        while at < len(data):
            feed: Buffer = data[at : at + FEED_BYTES]
            at += len(feed)
            while feed:
                yield member.decompress(feed, CHUNK_BYTES)
                feed = member.unconsumed_tail
            if member.eof:
                at -= len(member.unused_data)
                member = isal_zlib.decompressobj(GZIP_WINDOW)
                if len(data) - at < LEAST_GZIP_BYTES or bytes(data[at : at + 3]) != GZIP_MAGIC:
                    return
    except isal_zlib.IsalError as error:  # type: ignore[misc]  # the stub does not say that it is an exception
        raise InvalidRecord(f"broken gzip stream: {error}") from error
    raise InvalidRecord("a gzip stream ends early")


def _decompress_gzip_at_once(data: memoryview, max_bytes: int) -> Buffer | None:
    from isal import isal_zlib

    if int.from_bytes(data[-4:], "little") > max_bytes:  # the stream ends with its size
        return None
    member = isal_zlib.decompressobj(GZIP_WINDOW)
    try:
        opened: bytes = member.decompress(data, max_bytes)
    except isal_zlib.IsalError as error:  # type: ignore[misc]  # the stub does not say that it is an exception
        raise InvalidRecord(f"broken gzip stream: {error}") from error
    return opened if member.eof and not member.unused_data else None


def _compress_gzip_at_once(data: memoryview, out: bytearray, at: int, magic: int) -> int:
    from isal import igzip_lib

    packed = igzip_lib.compress(data, AT_ONCE_GZIP_LEVEL, igzip_lib.COMP_GZIP)
    out[at : at + len(packed)] = packed
    return at + len(packed)


class _ThreadBuffers(threading.local):
    """A thread's buffer, made by its first use."""

    @cached_property
    def opened(self) -> bytearray:
        return bytearray(AT_ONCE_BYTES + 1)


_thread_buffers: Final = _ThreadBuffers()
_idle_zstd: Final[list[Any]] = []


@contextmanager
def _zstd_decompressor() -> Iterator[Any]:
    import zstandard

    try:
        decompressor = _idle_zstd.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    try:
        yield decompressor
    finally:
        if len(_idle_zstd) < MAX_IDLE_ZSTD and decompressor.memory_size() <= MAX_IDLE_ZSTD_BYTES:
            _idle_zstd.append(decompressor)


def _read_zstd(data: memoryview, magic: int, max_bytes: int) -> Iterator[Buffer]:
    import zstandard

    with _zstd_decompressor() as decompressor:
        try:
            reader = decompressor.stream_reader(data, read_size=FEED_BYTES, read_across_frames=True)
            while chunk := reader.read(CHUNK_BYTES):
                yield chunk
        except zstandard.ZstdError as error:
            raise InvalidRecord(f"broken zstd stream: {error}") from error


def _decompress_zstd_at_once(data: memoryview, max_bytes: int) -> Buffer | None:
    """Returns a view of the thread's buffer; None if more than `max_bytes` would come out."""
    import zstandard

    room = memoryview(_thread_buffers.opened)[: max_bytes + 1]
    with _zstd_decompressor() as decompressor:
        try:
            reader = decompressor.stream_reader(data, read_size=len(data), read_across_frames=True)
            size: int = reader.readinto(room)
        except zstandard.ZstdError as error:
            raise InvalidRecord(f"broken zstd stream: {error}") from error
    return room[:size] if size <= max_bytes else None


_AT_ONCE: Final[dict[int, tuple[DecompressAtOnce, CompressAtOnce | None]]] = {
    Codec.GZIP: (_decompress_gzip_at_once, _compress_gzip_at_once),
    Codec.SNAPPY: (xerial.decompress_at_once, xerial.compress_at_once),
    Codec.LZ4: (lz4_frame.decompress_at_once, lz4_frame.compress_at_once),
    Codec.ZSTD: (_decompress_zstd_at_once, None),
}
