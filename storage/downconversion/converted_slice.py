"""A slice of a log that is converted down while it is sent, to a size promised before (KIP-283).

| what the slice holds | promised size |
|---|---|
| F, the first batch that becomes something | max(stored size, converted size of F), or the limit of Fetch v0-v2 |
| whole batches that all vanish | 0 |
| no whole batch, Fetch v0-v2 | 12: an overflow entry, so that the client sees a message larger than its limit |
| no whole batch, Fetch v3 | 0 |

Exactly that many bytes follow: converted chunks, cut at the promised size; or, when they end before it, an overflow
entry (`converted_stream.py`).

What is kept of a slice is its size and where sending has got to. If F is compressed, the first chunk is converted for
the promise and kept as it is if the memory budget allows; otherwise it is converted again: a codec's result, or the
cut in a chunk, depends on nothing but the stored bytes.

Kafka 3.9: `LazyDownConversionRecords`, `RecordsUtil`. Other than Kafka (docs/compatibility.md): checksums are
checked, F never comes twice, all-vanished slices are empty, good batches before a bad one are sent.
"""

from collections.abc import Callable
from typing import Protocol

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import single_bytes
from ...protocol.records.kernel import convert_plain
from ..files.file_slice import FileSlice
from .conversion_rules import ConversionRules, ConversionStats, has_to_be_opened, is_for_worker, through_codec
from .converted_stream import OVERFLOW_ENTRY, ConvertedStream
from .memory_estimate import buffer_for, claim_for
from .read_window import batch_at, read_window
from .small_slice import SMALL_BYTES, convert_small

_NOTHING_YET = ConversionStats()
"""Shared by the slices that wait for their turn: a stalled reader holds hundreds."""


class Held(Protocol):
    """Memory that someone else has claimed."""

    def drop(self) -> None: ...


class ConvertedSlice:
    """`source` as a client of an older magic reads it. `promise` comes first: it tells `size_bytes`.

    `first_header` is that of the first batch, None where there is none; who has read it forgets it: a stalled reader
    holds hundreds of slices. `on_done`, if set, hears the stats once, when nothing more will be asked for. `first`: the
    buffer that `promise` filled, if it is kept, which is dropped with the slice.
    """

    is_in_file = False

    __slots__ = (
        "_at",
        "_begins_in_worker",
        "_stream",
        "first",
        "first_header",
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
        self.stats = _NOTHING_YET
        self.size_bytes = 0
        self._at = 0
        self.next_offset = rules.first_offset
        self.on_done: Callable[[ConversionStats], None] | None = None
        self.first: Held | None = None
        self._stream: ConvertedStream | None = None
        self.first_header = first = batch_at(source, 0)
        self._begins_in_worker = self.needs_worker = first is not None and is_for_worker(first, rules.target)

    @property
    def claim_bytes(self) -> int:
        """Memory that `promise` takes."""
        return claim_for(self.source, self._at, self.needs_worker)

    @property
    def first_buffer_bytes(self) -> int:
        """How large a buffer `promise` may have, 0 if it has no use for one."""
        header = self.first_header
        if header is None or self._at or not has_to_be_opened(header, self.rules.target):
            return 0
        return buffer_for(self.source, 0, True)

    @property
    def filled_bytes(self) -> int:
        """How much of its buffer `promise` filled: what the stream begins behind."""
        return 0 if self._stream is None else self._stream.filled_bytes

    def promise(self, buffer: bytearray | None = None) -> bool:
        """Sets `size_bytes`, and `next_offset` to what follows the last whole batch if all of them vanish.

        With a buffer of `first_buffer_bytes`, that is filled with the first batch and what follows, as the stream
        would.

        In a worker if `needs_worker`: a codec is at work, or a large batch. False when it turns out on the way that it
        does, or that more memory has to be claimed: then it is to be called again. Raises: UnsupportedCompression,
        CorruptRecord, InvalidRecord for the first batch that does not vanish; DiskFault.
        """
        header = None if self._at else self.first_header  # looked at already
        began = self._at
        while (header := header or batch_at(self.source, self._at)) is not None:
            if not self.needs_worker and is_for_worker(header, self.rules.target):
                self.needs_worker = True
                return False
            if self._at > began and self.needs_worker and self.claim_bytes > claim_for(self.source, began, True):
                return False
            size = self._fill_first(buffer) if buffer is not None and self._at == 0 else 0
            size = size or self._converted_bytes(header, self._at)
            if size:
                self.size_bytes = self.rules.promise(self.source.size_bytes, size)
                return True
            self.next_offset = max(self.next_offset, header.last_offset + 1)
            self._at += header.size_bytes
            header = None
        if self._at == 0 and self.source.size_bytes and self.rules.shows_too_large:
            self.size_bytes = OVERFLOW_ENTRY.size
        return True

    @property
    def is_small(self) -> bool:
        """Whether `promise_at_once` is worth trying."""
        return self.first_header is not None and self.source.size_bytes <= min(SMALL_BYTES, self.rules.chunk_bytes)

    def promise_at_once(self, buffer: bytearray) -> bool:
        """As `promise` of a slice that is small, in the event loop, and fills the buffer with all of it.

        False where it opens to too much, is damaged or unusual in any way: `promise` has to see to it, in a worker.
        """
        header = self.first_header
        made = None if header is None else convert_small(self.source, header, self.rules, buffer)
        if made is None:
            return False
        self.size_bytes, self.stats = made
        return True

    def open(self) -> ConvertedStream:
        """The bytes of it, from behind `filled_bytes` on; of a slice that was promised at once from the beginning."""
        stream, self._stream = self._stream, None
        if stream is None:
            stream = ConvertedStream(self.source, self.rules, self.size_bytes, needs_worker=self._begins_in_worker)
        if self.stats is _NOTHING_YET:  # else all of it was converted for the promise
            self.stats = stream.stats
        return stream

    def done(self) -> None:
        self.drop_first()
        if self.on_done is not None:
            self.on_done(self.stats)

    def __del__(self) -> None:
        self.drop_first()  # of an answer that was never sent

    def drop_first(self) -> None:
        """Lets go of what is kept for an answer that will not be sent."""
        if self.first is not None:
            self.first.drop()
            self.first = None

    def _fill_first(self, buffer: bytearray) -> int:
        """The size of the first batch, which is in `buffer` if that has room; 0 if nothing can be made of it."""
        stream = ConvertedStream(self.source, self.rules, 0, needs_worker=True)
        size = stream.fill_first(buffer)
        if size:
            self._stream, self.stats = stream, stream.stats
        return size

    def _converted_bytes(self, header: BatchHeader, at: int) -> int:
        """The size of one whole batch once it is converted, 0 if it vanishes."""
        rules = self.rules
        batch = read_window(self.source, at, header.size_bytes)
        if has_to_be_opened(header, rules.target):
            return single_bytes(batch, rules.target) or through_codec(batch, rules).size_bytes
        return convert_plain(batch, 0, rules.target, rules.first_offset, None)[1]
