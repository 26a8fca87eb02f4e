"""Converts a small slice in one go, in the event loop: what a reader at the end of a log fetches.

The same bytes as those of a stream (`converted_stream.py`), which makes them again if they are dropped.
"""

from time import perf_counter

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import convert_singles
from ...protocol.records.kernel import convert_plain
from ..files.file_slice import FileSlice
from .conversion_rules import ConversionRules, ConversionStats, has_to_be_opened
from .converted_stream import write_overflow
from .read_window import batch_in, read_window

# A codec takes less than 0.5 ms for so much, the way to a worker and back 0.1 to 0.2 ms of two processors.
SMALL_BYTES = 32 * 1024
SMALL_OPENED_BYTES = 96 * 1024


def convert_small(
    source: FileSlice, first: BatchHeader, rules: ConversionRules, out: bytearray
) -> tuple[int, ConversionStats] | None:
    """The promised size of a slice of at most `SMALL_BYTES`, all of which is in `out` then, and what that took.

    None where its batches open to more than `SMALL_OPENED_BYTES`, are compressed in part, damaged or unusual in any
    way: that is for `converted_stream.py`. `out` has room for 256 KiB. Raises: DiskFault.
    """
    began = perf_counter()
    convert = _compressed if has_to_be_opened(first, rules.target) else _plain
    window, stats = read_window(source, 0, source.size_bytes), ConversionStats(chunks=1)
    try:
        at, first_bytes = convert(window[: first.size_bytes], 0, rules, out, 0, stats)
        if not first_bytes:
            return None
        size = first_bytes
        if at < len(window):
            at, size = convert(window, at, rules, out, size, stats)
        if batch_in(window, at, source.position) is not None:
            return None
    except ApiError:
        return None
    promised = max(source.size_bytes, first_bytes)
    stats.is_truncated = size > promised
    if size < promised:
        stats.padding_bytes = promised - size
        write_overflow(memoryview(out)[size:], promised - size)
    stats.seconds = perf_counter() - began
    return promised, stats


def _compressed(
    window: memoryview, at: int, rules: ConversionRules, out: bytearray, size: int, stats: ConversionStats
) -> tuple[int, int]:
    """The batches from `at` on, into `out` behind `size`: up to where, in both."""
    left = SMALL_OPENED_BYTES - stats.temporary_bytes  # which is what was opened, and a little more
    at, size, records, temporary_bytes = convert_singles(window, at, rules.target, out, size, left)
    stats.records += records
    stats.temporary_bytes += temporary_bytes
    return at, size


def _plain(
    window: memoryview, at: int, rules: ConversionRules, out: bytearray, size: int, stats: ConversionStats
) -> tuple[int, int]:
    at, size, _, records, _, temporary_bytes, _ = convert_plain(window, at, rules.target, rules.first_offset, out, size)
    stats.records += records
    stats.temporary_bytes += temporary_bytes
    return at, size
