"""Converts the next batches of a slice into a buffer: the only loop that converts fetched batches.

| batch | how it is converted |
|---|---|
| without a codec | `kernel.convert_plain`, whole chunks at a time |
| with a codec | `convert_compressed_batches`, many at a time; the rest by `convert_compressed` |
| larger than a chunk | alone, in memory that was claimed for it |
| damaged, and all after it | not at all: the chunk ends before it |
"""

import contextlib
from time import perf_counter

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import NO_LIMIT, convert_compressed_batches
from ...protocol.records.kernel import convert_plain, plan_chunk
from ...protocol.records.layout import CODEC_MASK, FRAME, LOG_OVERHEAD, Codec
from ..files.file_slice import FileSlice
from .conversion_rules import ConversionRules, convert_compressed_batch, has_to_be_decompressed, is_for_worker
from .read_window import KEPT_BYTES, batch_header_at, batch_header_in, read_window

# A codec takes at most 0.5 ms for this size; passing it to a worker and back costs 0.1 to 0.2 ms on two processors.
SMALL_BYTES = 64 * 1024
SMALL_GZIP_BYTES = 16 * 1024
LOOP_DECOMPRESSED_BYTES = 256 * 1024
LOOP_DECOMPRESSED_GZIP_BYTES = 64 * 1024


class Chunk:
    """The batches of `source` from `start` to `end`; converted, they are the first `size_bytes` bytes of `out`.

    `in_worker`: whether compressed and large batches may be converted. Set by a conversion: `wants_bytes`, the room
    that the first batch needs, if `out` has too little; `needs_worker`, whether the batch at `end` is for a worker;
    `first_bytes`, the converted size of the first batch, where the caller asked for it.
    """

    __slots__ = (
        "_in_worker",
        "_out",
        "_rules",
        "_source",
        "end",
        "first_bytes",
        "needs_worker",
        "records",
        "seconds",
        "size_bytes",
        "start",
        "temporary_bytes",
        "wants_bytes",
    )

    def __init__(
        self, source: FileSlice, rules: ConversionRules, start: int, out: bytearray | memoryview, *, in_worker: bool
    ) -> None:
        self._source, self._rules, self._out, self._in_worker = source, rules, out, in_worker
        self.start = self.end = start
        self.size_bytes = self.records = self.temporary_bytes = self.wants_bytes = self.first_bytes = 0
        self.seconds = 0.0
        self.needs_worker = False

    def convert(self, first: BatchHeader | None = None) -> None:
        """Converts as many batches as a chunk may have and `out` has room for, but none from a damaged one on.

        `first`: the header of the first batch, to learn its `first_bytes`. If it converts to nothing, the chunk ends
        after it.
        """
        began = perf_counter()
        try:
            if self._in_worker:
                self._convert_compressed(first)
            else:
                self._add_plain(read_window(self._source, self.start, self._rules.chunk_bytes))
                if self.end == self.start and not self.needs_worker:
                    self._convert_large_plain()
        except ApiError:
            self._convert_one_by_one()
        self.seconds = perf_counter() - began

    def convert_small(self, first: BatchHeader) -> bool:
        """Converts a slice of at most `SMALL_BYTES` as a whole, in the event loop, into a buffer of 256 KiB.

        Returns False if its batches decompress to more than the limits above, are only partly compressed, damaged or
        unusual: then use `convert`. Raises: DiskFault.
        """
        began, source, rules = perf_counter(), self._source, self._rules
        window = read_window(source, 0, source.size_bytes)
        try:
            if has_to_be_decompressed(first, rules.target):
                self._add_usual_batches(window, _decompression_limit_in_loop(first, source.size_bytes))
                if self.size_bytes:  # one wrapper message
                    self.first_bytes = FRAME.unpack_from(self._out)[1] + LOG_OVERHEAD
            else:
                self._add_plain(window[: first.size_bytes])
                self.first_bytes = self.size_bytes
                self._add_plain(window)
            is_whole = self.first_bytes > 0 and batch_header_in(window, self.end, source.position) is None
        except ApiError:
            is_whole = False
        self.seconds = perf_counter() - began
        return is_whole

    def _convert_large_plain(self) -> None:
        """Converts a batch that is larger than a chunk or than `out`, if there is one."""
        header = batch_header_at(self._source, self.start)
        if header is None:
            return
        if is_for_worker(header, self._rules.target):
            self.needs_worker = True
        else:
            self._add_batch(header, read_window(self._source, self.start, header.size_bytes))

    def _convert_compressed(self, first: BatchHeader | None) -> None:
        source, rules = self._source, self._rules
        header = first or batch_header_at(source, self.start)
        size_bytes = rules.chunk_bytes if header is None else max(rules.chunk_bytes, header.size_bytes)
        window = read_window(source, self.start, size_bytes)
        if first is not None:
            self._add_compressed(window[: first.size_bytes])
            self.first_bytes = self.size_bytes
        if first is None or self.first_bytes:
            self._add_compressed(window)
        header = batch_header_at(source, self.end)
        self.needs_worker = header is not None and is_for_worker(header, rules.target)

    def _convert_one_by_one(self) -> None:
        """Converts the batches before the one that cannot be converted."""
        self.end, self.needs_worker = self.start, False
        self.size_bytes = self.records = self.temporary_bytes = self.first_bytes = 0
        with contextlib.suppress(ApiError):
            while (header := batch_header_at(self._source, self.end)) is not None:
                if not self._in_worker and is_for_worker(header, self._rules.target):
                    self.needs_worker = True
                    return
                if self.end > self.start and header.size_bytes > KEPT_BYTES:  # no memory was claimed for it
                    break
                if not self._add_batch(header, read_window(self._source, self.end, header.size_bytes)):
                    break
                self.first_bytes = self.first_bytes or self.size_bytes
        # Whether the next batch needs a worker is not known: its header may be what is damaged.
        self.needs_worker = self._in_worker and self.end == self.start

    # The windows below begin at `start`.

    def _add_plain(self, window: memoryview) -> None:
        rules = self._rules
        read, self.size_bytes, _, records, _, temporary_bytes, self.needs_worker = convert_plain(
            window, self.end - self.start, rules.target, rules.first_offset, self._out, self.size_bytes
        )
        self.end = self.start + read
        self.records += records
        self.temporary_bytes += temporary_bytes

    def _add_compressed(self, window: memoryview) -> None:
        """Adds the batches of `window`; an unusual one is converted alone."""
        while True:
            read = self._add_usual_batches(window, NO_LIMIT)
            header = batch_header_in(window, read, self._source.position + self.start)
            if header is None or not self._add_batch(header, window[read : read + header.size_bytes]):
                return

    def _add_usual_batches(self, window: memoryview, most_decompressed: int) -> int:
        read, self.size_bytes, records, temporary_bytes = convert_compressed_batches(
            window, self.end - self.start, self._rules.target, self._out, self.size_bytes, most_decompressed
        )
        self.end = self.start + read
        self.records += records
        self.temporary_bytes += temporary_bytes
        return read

    def _add_batch(self, header: BatchHeader, batch: memoryview) -> bool:
        """Converts the batch at `end`; returns whether there was room for it."""
        rules, start, out = self._rules, self.size_bytes, self._out
        if has_to_be_decompressed(header, rules.target):
            converted = convert_compressed_batch(batch, rules)
            records, temporary_bytes = converted.records, converted.temporary_bytes
            end = wanted = start + converted.size_bytes
            fits = end <= len(out)
            if fits:
                out[start:end] = converted.data
        else:
            read, end, _, records, _, temporary_bytes, _ = convert_plain(
                batch, 0, rules.target, rules.first_offset, out, start
            )
            fits = read > 0
            wanted = 0 if fits else plan_chunk(batch, rules.target, header.size_bytes)[3]
        if not fits:
            self.wants_bytes = 0 if start else wanted
            return False
        self.size_bytes = end
        self.end += header.size_bytes
        self.records += records
        self.temporary_bytes += temporary_bytes
        return True


def _decompression_limit_in_loop(first: BatchHeader, stored_bytes: int) -> int:
    """The most bytes to which the batches of a small slice may be decompressed in the event loop; 0 for none."""
    if first.attributes & CODEC_MASK != Codec.GZIP:
        return LOOP_DECOMPRESSED_BYTES
    return LOOP_DECOMPRESSED_GZIP_BYTES if stored_bytes <= SMALL_GZIP_BYTES else 0
