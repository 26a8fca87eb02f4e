"""A slice of a log, converted to an older magic buffer by buffer, up to a size that is promised first (KIP-283).

| the slice holds | promised size |
|---|---|
| F, the first batch that does not vanish | max(stored size of the slice, converted size of F) |
| F larger than the hard limit of Fetch v0-v2 | that limit, or the converted size of F where that is less |
| whole batches that all vanish | 0 |
| no whole batch, Fetch v0-v2 | 12: an overflow entry, so that the client sees a message larger than its limit |
| no whole batch, Fetch v3 | 0 |

Exactly that many bytes follow: converted chunks, cut at the promised size, and an overflow entry if they end before it.
A batch that cannot be converted ends the conversion: the client reads the batches before it, fetches again and gets the
error.

The first `fill` makes the promise. With a buffer it also converts:

| slice | the first `fill` |
|---|---|
| a small one that can be converted at once | converts it as a whole, in the event loop |
| any other, F compressed | converts the first chunk |
| any other, F plain | only computes the converted size of F; the next `fill` converts F again |

Without a buffer it only computes that size. F converts to the same bytes both times, since a codec's result and the cut
of a chunk depend on the stored bytes alone.

Kafka 3.9: `LazyDownConversionRecords`, `RecordsUtil`. Other than Kafka (docs/compatibility.md): checksums are
checked, F never comes twice, all-vanished slices are empty, good batches before a bad one are sent.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import size_as_wrapper
from ...protocol.records.kernel import convert_plain
from .bytes_slice import Source
from .chunk import SMALL_BYTES, Chunk
from .conversion_rules import (
    ConversionRules,
    ConversionStats,
    convert_compressed_batch,
    has_to_be_decompressed,
    is_for_worker,
)
from .memory_estimate import PLAIN_BYTES, buffer_bytes_of, bytes_to_claim_for
from .overflow_entry import OVERFLOW_ENTRY, PADDING_BYTES, write_overflow_entry
from .read_window import batch_header_at, read_window

_NOTHING_YET = ConversionStats()


class Progress(NamedTuple):
    """The position of a stream, the resources that its next `fill` needs, and the statistics so far.

    `at`, `out_bytes`: positions in the source and in the output. `is_small`: converting the slice as a whole is still
    to be tried.
    """

    at: int
    out_bytes: int
    needs_worker: bool
    bytes_to_claim: int
    buffer_bytes: int
    is_padding: bool = False
    stats: ConversionStats = _NOTHING_YET
    is_small: bool = False


SMALL = Progress(0, 0, False, PLAIN_BYTES, PLAIN_BYTES, is_small=True)
"""The state before the first `fill` of a slice that may be converted as a whole."""
PLAIN = Progress(0, 0, False, PLAIN_BYTES, PLAIN_BYTES)
"""The state before the first `fill` of any other slice that needs no worker. One object serves all: a stalled reader
holds hundreds."""


class ConvertedStream:
    """The batches of `source`, converted to an older magic. The first `fill` sets `size_bytes`.

    Read before each `fill`: whether it needs a worker thread (`needs_worker`), the size of the buffer
    (`buffer_bytes`), and the memory that it takes, buffer included (`bytes_to_claim`).

    `first_header`: the header of the first batch, or None. Set it to None once it has been read: a stalled reader holds
    hundreds of slices. `close` calls `on_done`, if set, with the statistics. `next_offset`: the offset after the last
    whole batch, if all batches vanish.
    """

    __slots__ = (
        "_before",
        "_progress",
        "first_header",
        "is_size_known",
        "next_offset",
        "on_done",
        "rules",
        "size_bytes",
        "source",
    )

    def __init__(self, source: Source, rules: ConversionRules) -> None:
        self.source = source
        self.rules = rules
        self.size_bytes = 0
        self.is_size_known = False
        self.next_offset = rules.first_offset
        self.on_done: Callable[[ConversionStats], None] | None = None
        self.first_header = header = batch_header_at(source, 0)
        is_small = header is not None and source.size_bytes <= min(SMALL_BYTES, rules.chunk_bytes)
        self._before = self._progress = SMALL if is_small else _begin(0, header, rules)

    @property
    def needs_worker(self) -> bool:
        """Whether the next `fill` converts a compressed or large batch, which takes too long for the event loop."""
        return self._progress.needs_worker

    @property
    def bytes_to_claim(self) -> int:
        return self._progress.bytes_to_claim

    @property
    def buffer_bytes(self) -> int:
        """The buffer size for the next `fill`; 0 if that only works out the promised size."""
        progress = self._progress
        if self.is_size_known or progress.is_small:
            return progress.buffer_bytes
        header = self.first_header if progress.at == 0 else batch_header_at(self.source, progress.at)
        return 0 if header is None or not has_to_be_decompressed(header, self.rules.target) else progress.buffer_bytes

    @property
    def stats(self) -> ConversionStats:
        """The statistics of the conversion so far."""
        return self._progress.stats

    def fill(self, buffer: bytearray | memoryview | None) -> int:
        """Puts the next bytes into `buffer` and returns how many.

        Returns 0 if the next batch needs a worker or more memory than was announced: read `needs_worker`,
        `bytes_to_claim` and `buffer_bytes` again before the next call. Also returns 0 if it only makes the promise, and
        after batches that vanish. `buffer` may be None only before the promise.

        Raises: DiskFault; before the promise UnsupportedCompression, CorruptRecord or InvalidRecord, if the first batch
        that does not vanish cannot be converted.
        """
        if not self.is_size_known:
            return self._fill_first(buffer)
        assert buffer is not None
        self._before = progress = self._progress
        if not progress.is_padding:
            out = memoryview(buffer)[: progress.buffer_bytes]
            chunk = Chunk(self.source, self.rules, progress.at, out, in_worker=progress.needs_worker)
            chunk.convert()
            size = self._advance_past(chunk)
            if self._progress is not progress:
                return size + self._pad_if_over(out, size)
        return self._pad(buffer)

    def step_back(self) -> None:
        """Takes the last `fill` back: the next one returns the same bytes again."""
        before, seconds = self._before, self.stats.seconds
        self._progress = before._replace(stats=replace(before.stats, seconds=seconds))

    def close(self) -> None:
        """Calls `on_done`; no `fill` may follow."""
        if self.on_done is not None:
            self.on_done(self.stats)

    # The promise

    def _fill_first(self, buffer: bytearray | memoryview | None) -> int:
        if self._progress.is_small:
            self._before = self._progress = _begin(0, self.first_header, self.rules)
            size = 0 if buffer is None else self._fill_with_whole_slice(memoryview(buffer))
            if size or self.needs_worker:
                return size
        source, rules, began = self.source, self.rules, self._progress
        at, header = began.at, batch_header_at(self.source, began.at) if began.at else self.first_header
        while header is not None:
            if at > began.at:
                self._before = self._progress = _begin(at, header, rules)
                if self.needs_worker and (not began.needs_worker or self.bytes_to_claim > began.bytes_to_claim):
                    return 0
            size = self._fill_compressed(buffer, header)
            if self.is_size_known:
                return size
            self._promise(header, self._converted_size(header, at))
            if self.is_size_known:
                return 0
            self.next_offset = max(self.next_offset, header.last_offset + 1)
            at += header.size_bytes
            header = batch_header_at(source, at)
        self.is_size_known = True
        if at == 0 and source.size_bytes and rules.shows_too_large:
            self.size_bytes = OVERFLOW_ENTRY.size
        return 0

    def _promise(self, first: BatchHeader, converted_bytes: int) -> None:
        """Promises a size, unless the first batch vanishes."""
        if converted_bytes:
            self.size_bytes = self.rules.size_to_promise(self.source.size_bytes, first.size_bytes, converted_bytes)
            self.is_size_known = True

    def _fill_with_whole_slice(self, out: memoryview) -> int:
        """Fills `out` with all of a small slice; returns 0 if that cannot be done in the event loop."""
        first = self.first_header
        assert first is not None
        chunk = Chunk(self.source, self.rules, 0, out, in_worker=False)
        if not chunk.convert_small(first):
            return 0
        self._promise(first, chunk.first_bytes)
        size = self._advance_past(chunk)
        return size if size == self.size_bytes else size + self._pad(out[size:])

    def _fill_compressed(self, buffer: bytearray | memoryview | None, first: BatchHeader) -> int:
        """Converts the first chunk into `buffer`, which may be too small for it, and promises a size.

        Nothing is promised without a buffer, or if the first batch is plain, vanishes or is damaged.
        """
        progress, rules = self._progress, self.rules
        if buffer is None or not has_to_be_decompressed(first, rules.target):
            return 0
        out = memoryview(buffer)[: progress.buffer_bytes]
        chunk = Chunk(self.source, rules, progress.at, out, in_worker=True)
        chunk.convert(first)
        self._promise(first, chunk.first_bytes or chunk.wants_bytes)
        if not self.is_size_known:
            return 0
        size = self._advance_past(chunk)
        return size + self._pad_if_over(out, size)

    def _converted_size(self, header: BatchHeader, at: int) -> int:
        """The size of one whole batch once it is converted, 0 if it vanishes."""
        rules = self.rules
        batch = read_window(self.source, at, header.size_bytes)
        if has_to_be_decompressed(header, rules.target):
            return size_as_wrapper(batch, rules.target) or convert_compressed_batch(batch, rules).size_bytes
        return convert_plain(batch, 0, rules.target, rules.first_offset, None)[1]

    # What follows

    def _advance_past(self, chunk: Chunk) -> int:
        """Advances past a chunk, or notes what the next `fill` needs; returns how many bytes of the chunk are sent."""
        progress, left = self._progress, self.size_bytes - self._progress.out_bytes
        if chunk.size_bytes:
            size = min(chunk.size_bytes, left)
            self._continue_after(chunk, progress.out_bytes + size, _add(progress.stats, chunk, chunk.size_bytes > left))
            return size
        if chunk.wants_bytes and chunk.end == chunk.start:
            bytes_to_claim = progress.bytes_to_claim + chunk.wants_bytes - progress.buffer_bytes
            self._progress = progress._replace(bytes_to_claim=bytes_to_claim, buffer_bytes=chunk.wants_bytes)
        elif chunk.end > chunk.start or chunk.needs_worker != progress.needs_worker:
            self._continue_after(chunk, progress.out_bytes, progress.stats)
        return 0

    def _continue_after(self, chunk: Chunk, out_bytes: int, stats: ConversionStats) -> None:
        """Sets the progress so that the next `fill` converts what follows `chunk`."""
        if chunk.needs_worker:
            self._progress = _in_worker(chunk.end, out_bytes, batch_header_at(self.source, chunk.end), stats)
        else:
            self._progress = Progress(chunk.end, out_bytes, False, PLAIN_BYTES, PLAIN_BYTES, False, stats)

    def _pad_if_over(self, out: memoryview, size: int) -> int:
        """Pads after the first `size` bytes of `out` if nothing is left to convert and the padding fits; returns the
        bytes of padding."""
        left = self.size_bytes - self._progress.out_bytes
        if not size or not left or max(left, OVERFLOW_ENTRY.size) > min(len(out) - size, PADDING_BYTES):
            return 0
        with contextlib.suppress(ApiError):
            if batch_header_at(self.source, self._progress.at) is None:
                return self._pad(out[size:])
        return 0

    def _pad(self, buffer: bytearray | memoryview) -> int:
        progress = self._progress
        size = write_overflow_entry(buffer, self.size_bytes - progress.out_bytes)
        stats = replace(progress.stats, padding_bytes=progress.stats.padding_bytes + size)
        self._progress = Progress(
            progress.at, progress.out_bytes + size, False, PLAIN_BYTES, PLAIN_BYTES, is_padding=True, stats=stats
        )
        return size


def _add(stats: ConversionStats, chunk: Chunk, is_truncated: bool) -> ConversionStats:
    return ConversionStats(
        stats.records + chunk.records,
        stats.temporary_bytes + chunk.temporary_bytes,
        stats.seconds + chunk.seconds,
        stats.chunks + 1,
        stats.padding_bytes,
        is_truncated,
    )


def _begin(at: int, header: BatchHeader | None, rules: ConversionRules) -> Progress:
    """The progress of a stream that begins at `at`, where the batch of that header is."""
    if header is not None and is_for_worker(header, rules.target):
        return _in_worker(at, 0, header, _NOTHING_YET)
    return PLAIN._replace(at=at) if at else PLAIN


def _in_worker(at: int, out_bytes: int, header: BatchHeader | None, stats: ConversionStats) -> Progress:
    """The progress before a `fill` in a worker, whose chunk begins with the batch of that header."""
    return Progress(at, out_bytes, True, bytes_to_claim_for(header), buffer_bytes_of(header), False, stats)
