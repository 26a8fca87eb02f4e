"""Converts a small slice in one go, in the event loop: what a reader at the end of a log fetches.

The same bytes as those of a stream (`converted_stream.py`), which makes them again if they are dropped.
"""

from time import perf_counter

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import CODEC_MASK, FRAME, LOG_OVERHEAD, BatchHeader
from ...protocol.records.conversion.compressed_batch import convert_singles
from ...protocol.records.kernel import convert_plain
from ...protocol.records.layout import Codec
from ..files.file_slice import FileSlice
from .conversion_rules import ConversionRules, ConversionStats, has_to_be_opened
from .converted_stream import write_overflow
from .read_window import batch_in, read_window

# For so much a codec takes 0.5 ms at most; the way to a worker and back takes 0.1 to 0.2 ms of two processors.
SMALL_BYTES = 64 * 1024
SMALL_GZIP_BYTES = 16 * 1024
SMALL_OPENED_BYTES = 256 * 1024
SMALL_OPENED_GZIP_BYTES = 64 * 1024


def convert_small(
    source: FileSlice, first: BatchHeader, rules: ConversionRules, out: bytearray
) -> tuple[int, ConversionStats] | None:
    """The promised size of a slice of at most `SMALL_BYTES`, all of which is in `out` then, and what that took.

    None where its batches open to more than is told above, are compressed in part, damaged or unusual in any way: that
    is for `converted_stream.py`. `out` has room for 256 KiB. Raises: DiskFault.
    """
    began = perf_counter()
    window = read_window(source, 0, source.size_bytes)
    convert = _compressed if has_to_be_opened(first, rules.target) else _plain
    try:
        at, size, first_bytes, records, temporary_bytes = convert(window, first, rules, out)
        if not first_bytes or batch_in(window, at, source.position) is not None:
            return None
    except ApiError:
        return None
    promised = rules.promise(source.size_bytes, first_bytes)
    stats = ConversionStats(records, temporary_bytes, chunks=1, is_truncated=size > promised)
    if size < promised:
        stats.padding_bytes = promised - size
        write_overflow(memoryview(out)[size:], promised - size)
    stats.seconds = perf_counter() - began
    return promised, stats


def _compressed(
    window: memoryview, first: BatchHeader, rules: ConversionRules, out: bytearray
) -> tuple[int, int, int, int, int]:
    """Converts what it can: up to where, into how many bytes, of which so many of the first batch, records, temporary
    bytes.
    """
    most = SMALL_OPENED_BYTES
    if first.attributes & CODEC_MASK == Codec.GZIP:
        most = SMALL_OPENED_GZIP_BYTES if len(window) <= SMALL_GZIP_BYTES else 0
    at, size, records, temporary_bytes = convert_singles(window, 0, rules.target, out, 0, most)
    first_bytes = FRAME.unpack_from(out)[1] + LOG_OVERHEAD if size else 0  # one wrapper message
    return at, size, first_bytes, records, temporary_bytes


def _plain(
    window: memoryview, first: BatchHeader, rules: ConversionRules, out: bytearray
) -> tuple[int, int, int, int, int]:
    target, first_offset = rules.target, rules.first_offset
    alone = window[: first.size_bytes]
    at, first_bytes, _, records, _, temporary_bytes, _ = convert_plain(alone, 0, target, first_offset, out)
    at, size, _, more_records, _, more_bytes, _ = convert_plain(window, at, target, first_offset, out, first_bytes)
    return at, size, first_bytes, records + more_records, temporary_bytes + more_bytes
