"""The bytes of a converted slice, one buffer after the other: the only conversion loop on the way out.

Where the conversion ends before the promised size does, an overflow entry follows that every client takes for the
beginning of a message it has to fetch again:

    offset -1 (8) | size max(remaining + 1, 61) (4) | zeros; a new one every 131072 bytes

A batch that cannot be converted ends the conversion: the client reads what came before, asks again and gets the error.
"""

import contextlib
from dataclasses import dataclass, replace
from struct import Struct
from time import perf_counter

from ...protocol.errors import ApiError
from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import convert_singles
from ...protocol.records.kernel import convert_plain, plan
from ..files.file_slice import FileSlice
from .conversion_rules import (
    ConversionRules,
    ConversionStats,
    has_to_be_opened,
    is_for_worker,
    next_is_for_worker,
    through_codec,
)
from .memory_estimate import PLAIN_BYTES, buffer_for, claim_for
from .read_window import KEPT_BYTES, batch_at, batch_in, read_window

OVERFLOW_ENTRY = Struct(">qi")
SMALLEST_OVERFLOW = 61
PADDING_BYTES = 128 * 1024

_ZEROS = bytes(PADDING_BYTES)


@dataclass(slots=True)
class _Filled:
    """What was put into a buffer: the source position behind it, its size, what it took.

    `wants_bytes`: the room that the first batch would have needed; `needs_worker`: what follows is for a worker;
    `first_bytes`: what the first batch takes of the size, where that was asked for.
    """

    end: int
    size_bytes: int = 0
    records: int = 0
    temporary_bytes: int = 0
    wants_bytes: int = 0
    needs_worker: bool = False
    first_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a stream has got: positions in the source and in what comes out, and what the next fill takes."""

    at: int
    out_bytes: int
    is_padding: bool
    needs_worker: bool
    claim_bytes: int
    buffer_bytes: int


class ConvertedStream:
    """`size_bytes` bytes, which were promised, of what `source` becomes.

    Before each `fill` it tells whether that belongs in a worker (`needs_worker`), how large the buffer has to be
    (`buffer_bytes`), and how much memory it takes with it (`claim_bytes`).
    """

    __slots__ = ("_before", "_place", "_rules", "_size_bytes", "_source", "stats")

    def __init__(self, source: FileSlice, rules: ConversionRules, size_bytes: int, *, needs_worker: bool) -> None:
        """`needs_worker`: whether the first batch is for a worker."""
        self._source = source
        self._rules = rules
        self._size_bytes = size_bytes
        self.stats = ConversionStats()
        self._place = self._at(0, 0, needs_worker=needs_worker)
        self._before = self._place, self.stats

    @property
    def needs_worker(self) -> bool:
        """Whether the next fill takes a codec, or a large batch, and so too long for the event loop."""
        return self._place.needs_worker

    @property
    def claim_bytes(self) -> int:
        return self._place.claim_bytes

    @property
    def buffer_bytes(self) -> int:
        return self._place.buffer_bytes

    def fill(self, buffer: bytearray | memoryview) -> int:
        """Put the next bytes into `buffer`: how many.

        0 when the next batch takes a worker, or more memory, than was told before: then again as they say now, or just
        again where only batches were passed that become nothing.
        """
        place, stats = self._place, self.stats
        self._before = place, replace(stats)
        if not place.is_padding:
            out = memoryview(buffer)[: place.buffer_bytes]
            size = self._take(self._convert(out))
            if self._place is not place:
                return size + self._pad_if_over(out, size)
        return self._pad(buffer)

    def fill_first(self, buffer: bytearray | memoryview) -> int:
        """The first `fill`, done before the size is promised, where the first batch has a codec.

        The converted size of that batch, which is promised if it is larger than the slice. 0: nothing comes of the
        batch, or it is damaged, and this stream is not for use. `filled_bytes` tells whether `buffer` had room for it.
        """
        self._before = self._place, replace(self.stats)
        out = memoryview(buffer)[: self._place.buffer_bytes]
        filled = self._convert(out, measures_first=True)
        size = filled.first_bytes or filled.wants_bytes
        self._size_bytes = self._rules.promise(self._source.size_bytes, size)
        self._pad_if_over(out, self._take(filled))
        return size

    @property
    def filled_bytes(self) -> int:
        """What all buffers so far were filled with."""
        return self._place.out_bytes

    def step_back(self) -> None:
        """What the last `fill` brought was dropped: the next brings the same again."""
        seconds = self.stats.seconds
        self._place, before = self._before
        self.stats.records, self.stats.temporary_bytes = before.records, before.temporary_bytes
        self.stats.chunks, self.stats.padding_bytes = before.chunks, before.padding_bytes
        self.stats.is_truncated, self.stats.seconds = before.is_truncated, seconds

    def _at(self, at: int, out_bytes: int, *, needs_worker: bool) -> _Place:
        if not needs_worker:
            return _Place(at, out_bytes, False, False, PLAIN_BYTES, PLAIN_BYTES)
        source = self._source
        return _Place(at, out_bytes, False, True, claim_for(source, at, True), buffer_for(source, at, True))

    def _take(self, filled: _Filled) -> int:
        """Goes on to behind what was filled, or to what the next `fill` takes: how much of it is sent."""
        place, stats, left = self._place, self.stats, self._size_bytes - self._place.out_bytes
        if filled.size_bytes:
            size = min(filled.size_bytes, left)
            stats.chunks += 1
            stats.records += filled.records
            stats.temporary_bytes += filled.temporary_bytes
            stats.is_truncated = filled.size_bytes > left
            self._place = self._at(filled.end, place.out_bytes + size, needs_worker=filled.needs_worker)
            return size
        if filled.wants_bytes and filled.end == place.at:
            claim_bytes = place.claim_bytes + filled.wants_bytes - place.buffer_bytes
            self._place = replace(place, claim_bytes=claim_bytes, buffer_bytes=filled.wants_bytes)
        elif filled.end > place.at or filled.needs_worker != place.needs_worker:
            self._place = self._at(filled.end, place.out_bytes, needs_worker=filled.needs_worker)
        return 0

    def _pad_if_over(self, out: memoryview, size: int) -> int:
        """Pads behind the `size` bytes that were filled if nothing is left to convert, and there is room: how much."""
        left = self._size_bytes - self._place.out_bytes
        if not size or not left or max(left, OVERFLOW_ENTRY.size) > min(len(out) - size, PADDING_BYTES):
            return 0
        with contextlib.suppress(ApiError):
            if batch_at(self._source, self._place.at) is None:
                return self._pad(out[size:])
        return 0

    def _pad(self, buffer: bytearray | memoryview) -> int:
        place = self._place
        left = self._size_bytes - place.out_bytes
        size = min(write_overflow(buffer, left), left)
        self.stats.padding_bytes += size
        self._place = _Place(place.at, place.out_bytes + size, True, False, PLAIN_BYTES, PLAIN_BYTES)
        return size

    # Converting

    def _convert(self, out: memoryview, *, measures_first: bool = False) -> _Filled:
        """The batches from here on, as many as a chunk has and `out` has room for."""
        began = perf_counter()
        try:
            return self._through_codecs(out, measures_first) if self._place.needs_worker else self._plain(out)
        except ApiError:
            return self._good(out)
        finally:
            self.stats.seconds += perf_counter() - began

    def _plain(self, out: memoryview) -> _Filled:
        rules, at = self._rules, self._place.at
        window = read_window(self._source, at, rules.chunk_bytes)
        read, written, _, records, _, temporary_bytes, has_codec = convert_plain(
            window, 0, rules.target, rules.first_offset, out
        )
        filled = _Filled(at + read, written, records, temporary_bytes, needs_worker=has_codec)
        if not read and not has_codec:
            self._add_large(filled, out)
        return filled

    def _through_codecs(self, out: memoryview, measures_first: bool) -> _Filled:
        """As `_plain`, those with a codec opened and closed again; what is not of the usual kind by itself.

        With `measures_first` it ends with the first batch if nothing comes of that.
        """
        source, rules, at = self._source, self._rules, self._place.at
        filled = _Filled(at)
        first = batch_at(source, at)
        window = read_window(
            source, at, rules.chunk_bytes if first is None else max(rules.chunk_bytes, first.size_bytes)
        )
        if measures_first and first is not None:
            self._compressed(window[: first.size_bytes], out, filled)
            filled.first_bytes = filled.size_bytes
        if not measures_first or filled.first_bytes:
            self._compressed(window, out, filled)
        filled.needs_worker = next_is_for_worker(source, filled.end, rules.target)
        return filled

    def _compressed(self, window: memoryview, out: memoryview, filled: _Filled) -> None:
        """Adds what is in `window`, which begins where this fill does, behind what is filled yet."""
        at, target = self._place.at, self._rules.target
        while True:
            read, filled.size_bytes, records, temporary_bytes = convert_singles(
                window, filled.end - at, target, out, filled.size_bytes
            )
            filled.end = at + read
            filled.records += records
            filled.temporary_bytes += temporary_bytes
            header = batch_in(window, read, self._source.position + at)
            if header is None or not self._add(header, window[read : read + header.size_bytes], out, filled):
                return

    def _add_large(self, filled: _Filled, out: memoryview) -> None:
        """Adds to what is empty yet the next batch, larger than a chunk or than `out`, unless that is for a worker."""
        header = batch_at(self._source, filled.end)
        if header is None:
            return
        if not self._place.needs_worker and is_for_worker(header, self._rules.target):
            filled.needs_worker = True
            return
        self._add(header, read_window(self._source, filled.end, header.size_bytes), out, filled)

    def _add(self, header: BatchHeader, batch: memoryview, out: memoryview, filled: _Filled) -> bool:
        """Whether the batch behind `filled` could be put into `out`; if so `filled` now covers it."""
        rules, start = self._rules, filled.size_bytes
        if has_to_be_opened(header, rules.target):
            converted = through_codec(batch, rules)
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
            wanted = 0 if fits else plan(batch, rules.target, header.size_bytes)[3]
        if not fits:
            filled.wants_bytes = 0 if start else wanted
            return False
        filled.end += header.size_bytes
        filled.size_bytes = end
        filled.records += records
        filled.temporary_bytes += temporary_bytes
        return True

    def _good(self, out: memoryview) -> _Filled:
        """The batches before the one that cannot be converted, one by one."""
        in_worker, at = self._place.needs_worker, self._place.at
        filled = _Filled(at)
        with contextlib.suppress(ApiError):
            while (header := batch_at(self._source, filled.end)) is not None:
                if not in_worker and is_for_worker(header, self._rules.target):
                    filled.needs_worker = True
                    return filled
                if filled.end > at and header.size_bytes > KEPT_BYTES:  # nobody has claimed memory for it
                    break
                batch = read_window(self._source, filled.end, header.size_bytes)
                if not self._add(header, batch, out, filled):
                    break
                filled.first_bytes = filled.first_bytes or filled.size_bytes
        filled.needs_worker = in_worker and filled.end == at  # else a frame is read, which may be the damage
        return filled


def write_overflow(out: bytearray | memoryview, promised_bytes: int) -> int:
    """An overflow entry over what is left of a promise, or over the first 128 KiB of it: its size."""
    size = max(OVERFLOW_ENTRY.size, min(promised_bytes, PADDING_BYTES))
    out[:size] = _ZEROS[:size]
    OVERFLOW_ENTRY.pack_into(out, 0, -1, max(promised_bytes + 1, SMALLEST_OVERFLOW))
    return size
