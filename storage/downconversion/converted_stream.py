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

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import size_as_wrapper
from ...protocol.records.kernel import convert_plain
from ..files.file_slice import FileSlice
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

Needs = tuple[bool, int, int]
"""What a `fill` needs: `needs_worker`, `bytes_to_claim` and `buffer_bytes` of a stream."""
PLAIN: Needs = (False, PLAIN_BYTES, PLAIN_BYTES)


class ConvertedStream:
    """The batches of `source`, converted to an older magic. The first `fill` sets `size_bytes`.

    Read before each `fill`:

    - `needs_worker`: whether it converts a compressed or large batch, which takes too long for the event loop
    - `buffer_bytes`: the size of the buffer; 0 if it only works out the promised size
    - `bytes_to_claim`: the memory that it takes, buffer included

    `first_header`: the header of the first batch, or None. Set it to None once it has been read: a stalled reader holds
    hundreds of slices. `close` calls `on_done`, if set, with `stats`, the statistics so far. `next_offset`: the offset
    after the last whole batch, if all batches vanish.
    """

    __slots__ = (
        "_at",
        "_before",
        "_is_padding",
        "_is_small",
        "_out_bytes",
        "buffer_bytes",
        "bytes_to_claim",
        "first_header",
        "is_size_known",
        "needs_worker",
        "next_offset",
        "on_done",
        "rules",
        "size_bytes",
        "source",
        "stats",
    )

    def __init__(self, source: FileSlice, rules: ConversionRules) -> None:
        self.source = source
        self.rules = rules
        self.size_bytes = 0
        self.is_size_known = False
        self.next_offset = rules.first_offset
        self.on_done: Callable[[ConversionStats], None] | None = None
        self.stats = _NOTHING_YET
        self._at = self._out_bytes = 0  # in the source, and in the output
        self._is_padding = False
        # All that a `fill` changes, as it was before the last one: for `step_back`.
        self._before: tuple[int, int, bool, int, int, bool, ConversionStats] | None = None
        self.first_header = header = batch_header_at(source, 0)
        # Whether converting the slice as a whole is still to be tried.
        self._is_small = header is not None and source.size_bytes <= min(SMALL_BYTES, rules.chunk_bytes)
        if self._is_small:
            self.needs_worker, self.bytes_to_claim, self.buffer_bytes = PLAIN
        else:
            self._begin(0, header)

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
        out = memoryview(buffer)[: self.buffer_bytes]
        chunk = Chunk(self.source, self.rules, self._at, out, in_worker=self.needs_worker)
        if not self._is_padding:  # otherwise nothing is left to convert, and the chunk stays empty
            chunk.convert()
        size = self._advance_past(chunk)
        if size is None:
            return self._pad(buffer)
        if size and self.size_bytes - self._out_bytes <= PADDING_BYTES:
            size += self._pad_if_over(out, size)
        return size

    def step_back(self) -> None:
        """Takes the last `fill` back: the next one returns the same bytes again."""
        if self._before is not None:
            seconds = self.stats.seconds
            (
                self._at, self._out_bytes, self.needs_worker, self.bytes_to_claim, self.buffer_bytes, self._is_padding,
                stats,
            ) = self._before  # fmt: skip
            self.stats = replace(stats, seconds=seconds)

    def close(self) -> None:
        """Calls `on_done`; no `fill` may follow."""
        if self.on_done is not None:
            self.on_done(self.stats)

    # The promise

    def _begin(self, at: int, header: BatchHeader | None) -> None:
        """Prepares for a promise that the batch at `at`, which has that header, decides."""
        self._at = at
        if header is None or not is_for_worker(header, self.rules.target):
            self.needs_worker, self.bytes_to_claim, self.buffer_bytes = False, PLAIN_BYTES, 0
        else:
            self.needs_worker, self.bytes_to_claim, self.buffer_bytes = _in_worker(header)
            if not has_to_be_decompressed(header, self.rules.target):  # its size is worked out without a buffer
                self.buffer_bytes = 0

    def _fill_first(self, buffer: bytearray | memoryview | None) -> int:
        if self._is_small:
            self._is_small = False
            self._begin(0, self.first_header)
            size = 0 if buffer is None else self._fill_with_whole_slice(memoryview(buffer))
            if size or self.needs_worker:
                return size
        source, rules, began_at = self.source, self.rules, self._at
        claimed_bytes = self.bytes_to_claim if self.needs_worker else 0
        at, header = began_at, batch_header_at(source, began_at) if began_at else self.first_header
        while header is not None:
            if at > began_at:
                self._begin(at, header)
                if self.needs_worker and self.bytes_to_claim > claimed_bytes:
                    return 0
            if buffer is not None and self.buffer_bytes:
                size = self._fill_compressed(buffer, header)
                if self.is_size_known:
                    return size
            self._promise(header, self._converted_size(header, at))
            if self.is_size_known:
                return 0
            self.next_offset = max(self.next_offset, header.last_offset + 1)
            at += header.size_bytes
            header = batch_header_at(source, at)
        self.is_size_known, self.buffer_bytes = True, PLAIN_BYTES
        if at == 0 and source.size_bytes and rules.shows_too_large:
            self.size_bytes = OVERFLOW_ENTRY.size
        return 0

    def _promise(self, first: BatchHeader, converted_bytes: int) -> None:
        """Promises a size, unless the first batch vanishes."""
        if converted_bytes:
            self.size_bytes = self.rules.size_to_promise(self.source.size_bytes, first.size_bytes, converted_bytes)
            self.is_size_known = True
            self.buffer_bytes = buffer_bytes_of(first) if self.needs_worker else PLAIN_BYTES

    def _fill_with_whole_slice(self, out: memoryview) -> int:
        """Fills `out` with all of a small slice; returns 0 if that cannot be done in the event loop."""
        first = self.first_header
        assert first is not None
        chunk = Chunk(self.source, self.rules, 0, out, in_worker=False)
        if not chunk.convert_small(first):
            return 0
        self._promise(first, chunk.first_bytes)
        size = self._advance_past(chunk) or 0
        return size if size == self.size_bytes else size + self._pad(out[size:])

    def _fill_compressed(self, buffer: bytearray | memoryview, first: BatchHeader) -> int:
        """Converts the first chunk, which is compressed, into `buffer`, which may be too small for it, and promises a
        size. Nothing is promised if the first batch vanishes or is damaged.
        """
        out = memoryview(buffer)[: self.buffer_bytes]
        chunk = Chunk(self.source, self.rules, self._at, out, in_worker=True)
        chunk.convert(first)
        self._promise(first, chunk.first_bytes or chunk.wants_bytes)
        if not self.is_size_known:
            return 0
        size = self._advance_past(chunk) or 0
        return size + self._pad_if_over(out, size)

    def _converted_size(self, header: BatchHeader, at: int) -> int:
        """The size of one whole batch once it is converted, 0 if it vanishes."""
        rules = self.rules
        batch = read_window(self.source, at, header.size_bytes)
        if has_to_be_decompressed(header, rules.target):
            return size_as_wrapper(batch, rules.target) or convert_compressed_batch(batch, rules).size_bytes
        return convert_plain(batch, 0, rules.target, rules.first_offset, None)[1]

    # What follows

    def _advance_past(self, chunk: Chunk) -> int | None:
        """Advances past a chunk, or notes what the next `fill` needs; returns how many bytes of the chunk are sent.

        None: the chunk is empty, and so will be all others.
        """
        self._before = (
            self._at, self._out_bytes, self.needs_worker, self.bytes_to_claim, self.buffer_bytes, self._is_padding,
            self.stats,
        )  # fmt: skip
        if chunk.end == chunk.start:
            if chunk.wants_bytes:
                self.bytes_to_claim += chunk.wants_bytes - self.buffer_bytes
                self.buffer_bytes = chunk.wants_bytes
                return 0
            if chunk.needs_worker == self.needs_worker:
                return None
        self.needs_worker, self.bytes_to_claim, self.buffer_bytes = (
            _in_worker(batch_header_at(self.source, chunk.end)) if chunk.needs_worker else PLAIN
        )
        self._at = chunk.end
        if not chunk.size_bytes:
            return 0
        left = self.size_bytes - self._out_bytes
        size = min(chunk.size_bytes, left)
        self._out_bytes += size
        stats = self.stats
        self.stats = ConversionStats(
            stats.records + chunk.records,
            stats.temporary_bytes + chunk.temporary_bytes,
            stats.seconds + chunk.seconds,
            stats.chunks + 1,
            stats.padding_bytes,
            chunk.size_bytes > left,
        )
        return size

    def _pad_if_over(self, out: memoryview, size: int) -> int:
        """Pads after the first `size` bytes of `out` if nothing is left to convert and the padding fits; returns the
        bytes of padding."""
        left = self.size_bytes - self._out_bytes
        if not size or not left or max(left, OVERFLOW_ENTRY.size) > min(len(out) - size, PADDING_BYTES):
            return 0
        with contextlib.suppress(ApiError):
            if batch_header_at(self.source, self._at) is None:
                return self._pad(out[size:])
        return 0

    def _pad(self, buffer: bytearray | memoryview) -> int:
        size = write_overflow_entry(buffer, self.size_bytes - self._out_bytes)
        self._is_padding = True
        self._out_bytes += size
        self.stats = replace(self.stats, padding_bytes=self.stats.padding_bytes + size)
        self.needs_worker, self.bytes_to_claim, self.buffer_bytes = PLAIN
        return size


def _in_worker(header: BatchHeader | None) -> Needs:
    """The needs of a `fill` in a worker, whose chunk begins with the batch of that header."""
    return True, bytes_to_claim_for(header), buffer_bytes_of(header)
