"""A slice of a log as a client of an older magic reads it, buffer by buffer, to a size promised before (KIP-283).

| what the slice holds | promised size |
|---|---|
| F, the first batch that becomes something | max(stored size, converted size of F) |
| F larger than the hard limit of Fetch v0-v2 | that limit, or the converted size of F where that is less |
| whole batches that all vanish | 0 |
| no whole batch, Fetch v0-v2 | 12: an overflow entry, so that the client sees a message larger than its limit |
| no whole batch, Fetch v3 | 0 |

Exactly that many bytes follow: converted chunks, cut at the promised size; or, when they end before it, an overflow
entry. A batch that cannot be converted ends the conversion: the client reads what came before, asks again and gets the
error.

The first `fill` makes the promise. What else it does, with a buffer:

| slice | |
|---|---|
| a small one that can be converted at once | it is converted as a whole, in the event loop |
| any other, F compressed | the first chunk is converted |
| any other, F plain | only the converted size of F is computed: the next `fill` converts F again |

Without a buffer only that size is computed. F becomes the same both times: a codec's result, and the cut in a chunk,
depend on nothing but the stored bytes.

Kafka 3.9: `LazyDownConversionRecords`, `RecordsUtil`. Other than Kafka (docs/compatibility.md): checksums are
checked, F never comes twice, all-vanished slices are empty, good batches before a bad one are sent.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import wrapper_bytes
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
from .memory_estimate import PLAIN_BYTES, buffer_bytes_of, claim_bytes_of
from .overflow_entry import OVERFLOW_ENTRY, PADDING_BYTES, write_overflow
from .read_window import batch_header_at, read_window

_NOTHING_YET = ConversionStats()


class Progress(NamedTuple):
    """How far a stream has got, what its next `fill` takes, and what those before took.

    `at`, `out_bytes`: positions in the source and in what comes out. `is_small`: the slice may be converted as a whole,
    which has not been tried yet.
    """

    at: int
    out_bytes: int
    needs_worker: bool
    claim_bytes: int
    buffer_bytes: int
    is_padding: bool = False
    stats: ConversionStats = _NOTHING_YET
    is_small: bool = False


SMALL = Progress(0, 0, False, PLAIN_BYTES, PLAIN_BYTES, is_small=True)
"""Before the first `fill` of a slice that may be converted as a whole."""
PLAIN = Progress(0, 0, False, PLAIN_BYTES, PLAIN_BYTES)
"""Before the first `fill` of another one that needs no worker. Shared: a stalled reader holds hundreds."""


class ConvertedStream:
    """`source` as a client of an older magic reads it. The first `fill` tells `size_bytes`.

    Before each `fill` it tells whether that belongs in a worker (`needs_worker`), how large the buffer has to be
    (`buffer_bytes`), and how much memory it takes with it (`claim_bytes`).

    `first_header` is that of the first batch, None where there is none. Set it to None once it has been read: a
    stalled reader holds hundreds of slices. `on_done`, if set, is called with the stats once, when nothing more will be
    asked for. `next_offset`: what follows the last whole batch, if all of them vanish.
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
        """Whether the next `fill` takes a codec, or a large batch, and so too long for the event loop."""
        return self._progress.needs_worker

    @property
    def claim_bytes(self) -> int:
        return self._progress.claim_bytes

    @property
    def buffer_bytes(self) -> int:
        """0 if the next `fill` makes the promise and needs no buffer for that."""
        progress = self._progress
        if self.is_size_known or progress.is_small:
            return progress.buffer_bytes
        header = self.first_header if progress.at == 0 else batch_header_at(self.source, progress.at)
        return 0 if header is None or not has_to_be_decompressed(header, self.rules.target) else progress.buffer_bytes

    @property
    def stats(self) -> ConversionStats:
        """What converting took so far."""
        return self._progress.stats

    def fill(self, buffer: bytearray | memoryview | None) -> int:
        """Put the next bytes into `buffer`: how many.

        0 if the next batch needs a worker, or more memory, than was announced: read `needs_worker`, `claim_bytes` and
        `buffer_bytes` again before the next call. Also 0 after a promise without bytes, and after batches that become
        nothing. Only a `fill` that makes the promise may go without a buffer.

        Raises: DiskFault; before the promise UnsupportedCompression, CorruptRecord or InvalidRecord, if the first batch
        that would become something cannot be converted.
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
        """What the last `fill` brought was dropped: the next brings the same again."""
        before, seconds = self._before, self.stats.seconds
        self._progress = before._replace(stats=replace(before.stats, seconds=seconds))

    def close(self) -> None:
        """Nothing more will be asked for."""
        if self.on_done is not None:
            self.on_done(self.stats)

    # The promise

    def _fill_first(self, buffer: bytearray | memoryview | None) -> int:
        if self._progress.is_small:
            self._before = self._progress = _begin(0, self.first_header, self.rules)
            size = 0 if buffer is None else self._fill_small(memoryview(buffer))
            if size or self.needs_worker:
                return size
        source, rules, began = self.source, self.rules, self._progress
        at, header = began.at, batch_header_at(self.source, began.at) if began.at else self.first_header
        while header is not None:
            if at > began.at:
                self._before = self._progress = _begin(at, header, rules)
                if self.needs_worker and (not began.needs_worker or self.claim_bytes > began.claim_bytes):
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
        """Promise a size if something comes of the first batch."""
        if converted_bytes:
            self.size_bytes = self.rules.size_to_promise(self.source.size_bytes, first.size_bytes, converted_bytes)
            self.is_size_known = True

    def _fill_small(self, out: memoryview) -> int:
        """Fill `out` with all of a small slice; 0 where that cannot be done at once."""
        first = self.first_header
        assert first is not None
        chunk = Chunk(self.source, self.rules, 0, out, in_worker=False)
        if not chunk.convert_small(first):
            return 0
        self._promise(first, chunk.first_bytes)
        size = self._advance_past(chunk)
        return size if size == self.size_bytes else size + self._pad(out[size:])

    def _fill_compressed(self, buffer: bytearray | memoryview | None, first: BatchHeader) -> int:
        """Promise what the first batch becomes, with what follows in `buffer`, which may have no room for it.

        Nothing is promised without a buffer, or if nothing comes of the batch, or if it is damaged.
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
            return wrapper_bytes(batch, rules.target) or convert_compressed_batch(batch, rules).size_bytes
        return convert_plain(batch, 0, rules.target, rules.first_offset, None)[1]

    # What follows

    def _advance_past(self, chunk: Chunk) -> int:
        """Go on after a chunk, or note what the next `fill` needs; returns how much of the chunk is sent."""
        progress, left = self._progress, self.size_bytes - self._progress.out_bytes
        if chunk.size_bytes:
            size = min(chunk.size_bytes, left)
            self._continue_after(chunk, progress.out_bytes + size, _add(progress.stats, chunk, chunk.size_bytes > left))
            return size
        if chunk.wants_bytes and chunk.end == chunk.start:
            claim_bytes = progress.claim_bytes + chunk.wants_bytes - progress.buffer_bytes
            self._progress = progress._replace(claim_bytes=claim_bytes, buffer_bytes=chunk.wants_bytes)
        elif chunk.end > chunk.start or chunk.needs_worker != progress.needs_worker:
            self._continue_after(chunk, progress.out_bytes, progress.stats)
        return 0

    def _continue_after(self, chunk: Chunk, out_bytes: int, stats: ConversionStats) -> None:
        """The next `fill` converts what follows `chunk`."""
        if chunk.needs_worker:
            self._progress = _in_worker(chunk.end, out_bytes, batch_header_at(self.source, chunk.end), stats)
        else:
            self._progress = Progress(chunk.end, out_bytes, False, PLAIN_BYTES, PLAIN_BYTES, False, stats)

    def _pad_if_over(self, out: memoryview, size: int) -> int:
        """Pad after the `size` bytes that were filled if nothing is left to convert, and there is room: how much."""
        left = self.size_bytes - self._progress.out_bytes
        if not size or not left or max(left, OVERFLOW_ENTRY.size) > min(len(out) - size, PADDING_BYTES):
            return 0
        with contextlib.suppress(ApiError):
            if batch_header_at(self.source, self._progress.at) is None:
                return self._pad(out[size:])
        return 0

    def _pad(self, buffer: bytearray | memoryview) -> int:
        progress = self._progress
        size = write_overflow(buffer, self.size_bytes - progress.out_bytes)
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
    """Where a stream begins, with nothing converted yet: at the batch of that header."""
    if header is not None and is_for_worker(header, rules.target):
        return _in_worker(at, 0, header, _NOTHING_YET)
    return PLAIN._replace(at=at) if at else PLAIN


def _in_worker(at: int, out_bytes: int, header: BatchHeader | None, stats: ConversionStats) -> Progress:
    """Before a worker's `fill`, of a chunk that begins with the batch of that header."""
    return Progress(at, out_bytes, True, claim_bytes_of(header), buffer_bytes_of(header), False, stats)
