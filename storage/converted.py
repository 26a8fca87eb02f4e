"""A slice of a log that is converted down while it is sent, to a size promised before (KIP-283).

| what the slice holds | promised size |
|---|---|
| F, the first batch that becomes something | max(stored size, converted size of F) |
| whole batches that all vanish | 0 |
| no whole batch, Fetch v0-v2 | 12: an overflow entry, so that the client sees a message larger than its limit |
| no whole batch, Fetch v3 | 0 |

Exactly that many bytes follow: converted chunks of about 128 KiB of stored bytes, cut at the promised size; or, when
they end before it, an overflow entry that every client takes for the beginning of a message it has to fetch again:

    offset -1 (8) | size max(remaining + 1, 61) (4) | zeros; a new one every 131072 bytes

What is kept of a slice is its size and where sending has got to. The conversion of F is not kept but done again: a
codec's result, or the cut in a chunk, depends on nothing but the stored bytes. A batch that cannot be converted,
found after the promise, ends the chunks: the client reads what came before, asks again and gets the error.

Kafka 3.9: `LazyDownConversionRecords`, `RecordsUtil`. Other than Kafka (docs/compatibility.md): checksums are
checked, F never comes twice, all-vanished slices are empty, good batches before a bad one are sent.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from time import perf_counter

from ..protocol.errors import ApiError
from ..protocol.records.convert import Converted, convert_compressed
from ..protocol.records.kernel import convert_plain, plan
from ..protocol.records.layout import Codec
from ..protocol.records.single import convert_singles
from .batch_headers import CODEC_MASK, BatchHeader
from .slices import FileSlice
from .windows import batch_at, batch_in, kept_window, read_window

OVERFLOW_ENTRY = Struct(">qi")
SMALLEST_OVERFLOW = 61
PADDING_BYTES = 128 * 1024
PLAIN_CLAIM_BYTES = 256 * 1024
CODEC_WORKSPACE_BYTES = 256 * 1024
CLAIM_STEP_BYTES = 64 * 1024
"""Batches of about one size claim the same, so that what one chunk has claimed is enough for the next."""

_ZEROS = bytes(PADDING_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRules:
    """How a slice is converted: to which magic, from which offset on, what zstd becomes (None: it is refused).

    `chunk_bytes` are stored bytes; `shows_too_large`: a slice without a whole batch becomes an overflow entry.
    """

    target: int
    first_offset: int
    zstd_to: Codec | None = None
    chunk_bytes: int = PADDING_BYTES
    shows_too_large: bool = False


@dataclass(slots=True)
class ConversionStats:
    """What converting one slice took so far. Batches that were copied count neither as records nor as conversions."""

    records: int = 0
    temporary_bytes: int = 0
    seconds: float = 0.0
    chunks: int = 0
    padding_bytes: int = 0
    is_truncated: bool = False


_NOTHING_YET = ConversionStats()
"""Shared by the slices that wait for their turn: a stalled reader holds hundreds."""


class ConvertedSlice:
    """`source` as a client of an older magic reads it. `promise` comes first: it tells `size_bytes`.

    `first_magic` and `first_attributes` are those of the first batch, -1 and 0 where there is none. `on_done`, if set,
    hears the stats once, when nothing more will be asked for.
    """

    __slots__ = (
        "_at",
        "first_attributes",
        "first_magic",
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
        first = batch_at(source, 0)
        self.needs_worker = first is not None and _has_to_be_opened(first, rules.target)
        self.first_magic, self.first_attributes = (-1, 0) if first is None else (first.magic, first.attributes)
        self.on_done: Callable[[ConversionStats], None] | None = None

    @property
    def claim_bytes(self) -> int:
        """Memory that `promise` takes."""
        return claim_for(self.source, self._at, self.needs_worker)

    def promise(self) -> bool:
        """Sets `size_bytes`, and `next_offset` to what follows the last whole batch if all of them vanish.

        In a worker if `needs_worker`: a codec is at work. False when it turns out on the way that it does: then it is
        to be called again, there. Raises: UnsupportedCompression, CorruptRecord, InvalidRecord for the first batch
        that does not vanish; DiskFault.
        """
        while (header := batch_at(self.source, self._at)) is not None:
            if not self.needs_worker and _has_to_be_opened(header, self.rules.target):
                self.needs_worker = True
                return False
            self.next_offset = max(self.next_offset, header.last_offset + 1)
            size = self._converted_bytes(header, self._at)
            if size:
                self.size_bytes = max(self.source.size_bytes, size)
                return True
            self._at += header.size_bytes
        if self._at == 0 and self.source.size_bytes and self.rules.shows_too_large:
            self.size_bytes = OVERFLOW_ENTRY.size
        return True

    def chunks(self) -> "ConvertedChunks":
        self.stats = ConversionStats()
        return ConvertedChunks(self)

    def done(self) -> None:
        if self.on_done is not None:
            self.on_done(self.stats)

    def _converted_bytes(self, header: BatchHeader, at: int) -> int:
        """The size of one whole batch once it is converted, 0 if it vanishes."""
        rules = self.rules
        batch = read_window(self.source, at, header.size_bytes)
        if _has_to_be_opened(header, rules.target):
            return _through_codec(batch, rules).size_bytes
        return convert_plain(batch, 0, rules.target, rules.first_offset, None)[1]


class ConvertedChunks:
    """One pass over a converted slice; `broker/sender.py` says who calls what when.

    `_at` is the position in the source up to which chunks have been sent, `_made` what `make` made last.
    """

    __slots__ = ("_at", "_made", "_produced", "_slice", "buffer_bytes", "claim_bytes", "is_padding", "needs_worker")

    def __init__(self, converted: ConvertedSlice) -> None:
        self._slice = converted
        self._at = 0
        self._produced = 0
        self._made = _Made()
        self.is_padding = False
        self.needs_worker = needs_codec(converted.source, 0, converted.rules.target)
        self.claim_bytes = claim_for(converted.source, 0, self.needs_worker)
        self.buffer_bytes = buffer_for(converted.source, 0, self.needs_worker)

    def make(self, out: bytearray) -> memoryview | None:
        """The next chunk in `out`, the same until `advance`.

        None when it could not be made this time: `out` was too small, or the next batch turned out to need a worker.
        """
        began = perf_counter()
        while not self.is_padding:
            made = self._convert(out)
            if made.size_bytes:
                made.seconds = perf_counter() - began
                self._made = made
                return memoryview(out)[: made.size_bytes]
            if made.end == self._at and made.wants_bytes:
                self.claim_bytes += made.wants_bytes - self.buffer_bytes
                self.buffer_bytes = made.wants_bytes
                return None
            if made.end == self._at and made.needs_worker == self.needs_worker:
                self.is_padding = True
            elif self._move_to(made):
                return None
        return self._pad(out)

    def advance(self) -> None:
        """The chunk has been sent."""
        made, stats = self._made, self._slice.stats
        self._produced += made.size_bytes
        stats.records += made.records
        stats.temporary_bytes += made.temporary_bytes
        stats.seconds += made.seconds
        stats.is_truncated = self._produced > self._slice.size_bytes
        if self.is_padding:
            stats.padding_bytes += made.size_bytes
        else:
            stats.chunks += 1
            self._move_to(made)

    def run(
        self, out: bytearray, send: Callable[[memoryview], int], most_bytes: int, turn_bytes: int
    ) -> tuple[int, memoryview, int]:
        """As `make`, `send` and `advance` in turn, with as little as can be between two chunks; see `broker/sender.py`.

        What the end of one window has of a batch is the beginning of the next. Whatever is not plain sailing is left
        to `make`: a batch too large for a chunk, damage, the end.
        """
        if self.needs_worker:
            return self._run_with_codec(out, send, min(most_bytes, turn_bytes), most_bytes)
        source, rules, stats = self._slice.source, self._slice.rules, self._slice.stats
        target, first_offset, chunk_bytes = rules.target, rules.first_offset, rules.chunk_bytes
        window, room = kept_window(chunk_bytes), memoryview(out)
        at, held, done, has_codec = self._at, 0, 0, False
        while done < turn_bytes and done < most_bytes and not (has_codec or self.is_padding):
            began = perf_counter()
            size = min(chunk_bytes, source.size_bytes - at)
            if source.read_into(window[held:size], at + held) < size - held:
                break
            try:
                read, written, _, records, _, temporary_bytes, stops_at_codec = convert_plain(
                    window[:size], 0, target, first_offset, out
                )
            except ApiError:
                break
            if not written:
                break
            seconds = perf_counter() - began
            chunk = room[: min(written, most_bytes - done)]
            sent = send(chunk)
            if sent < len(chunk):
                self._at = at
                self._made = _Made(at + read, written, records, temporary_bytes, seconds, needs_worker=stops_at_codec)
                return done, chunk, sent
            at += read
            done += sent
            self._produced += written
            stats.records += records
            stats.temporary_bytes += temporary_bytes
            stats.seconds += seconds
            stats.chunks += 1
            has_codec = stops_at_codec
            held = size - read
            window[:held] = window[read:size]
        stats.is_truncated = self._produced > self._slice.size_bytes
        self._move_to(_Made(at, needs_worker=has_codec))
        return done, room[:0], 0

    def _run_with_codec(
        self, out: bytearray, send: Callable[[memoryview], int], turn_bytes: int, most_bytes: int
    ) -> tuple[int, memoryview, int]:
        """As `run`, in a worker. The chunk that ends the response is not sent: who sees it is to find it counted."""
        done, claimed_bytes = 0, self.claim_bytes
        while done < turn_bytes and self.needs_worker and self.claim_bytes <= claimed_bytes:
            made = self.make(out)
            if made is None:
                break
            chunk = made[: most_bytes - done]
            sent = send(chunk) if len(chunk) < most_bytes - done else 0
            if sent < len(chunk):
                return done, chunk, sent
            done += sent
            self.advance()
        return done, memoryview(out)[:0], 0

    def _move_to(self, made: "_Made") -> bool:
        """Goes behind what `made` covers; whether the next chunk is to be made elsewhere than the last."""
        was_in_worker = self.needs_worker
        self._at, self.needs_worker = made.end, made.needs_worker
        self.claim_bytes = claim_for(self._slice.source, self._at, self.needs_worker)
        self.buffer_bytes = buffer_for(self._slice.source, self._at, self.needs_worker)
        return self.needs_worker != was_in_worker

    def _convert(self, out: bytearray) -> "_Made":
        """What the batches from `_at` on become, as far as chunk, buffer and good batches reach."""
        try:
            return self._convert_with_codec(out) if self.needs_worker else self._convert_plain(out)
        except ApiError:
            return self._convert_good(out)

    def _convert_plain(self, out: bytearray) -> "_Made":
        rules, source = self._slice.rules, self._slice.source
        window = read_window(source, self._at, rules.chunk_bytes)
        read, written, _, records, _, temporary_bytes, has_codec = convert_plain(
            window, 0, rules.target, rules.first_offset, out
        )
        made = _Made(
            end=self._at + read,
            size_bytes=written,
            records=records,
            temporary_bytes=temporary_bytes,
            needs_worker=has_codec,
        )
        if not read and not has_codec:
            self._convert_large(made, out)
        return made

    def _convert_large(self, made: "_Made", out: bytearray) -> None:
        """Adds to an empty `made` the next batch, which is larger than a chunk or than `out`; if there is one."""
        header = batch_at(self._slice.source, self._at)
        if header is not None:
            self._convert_one(header, read_window(self._slice.source, self._at, header.size_bytes), out, made)

    def _convert_with_codec(self, out: bytearray) -> "_Made":
        """As `_convert_plain`, those with a codec opened and closed again; what is not of the usual kind by itself."""
        made = _Made(end=self._at)
        source, target = self._slice.source, self._slice.rules.target
        window = read_window(source, self._at, self._slice.rules.chunk_bytes)
        while True:
            at, made.size_bytes, records, temporary_bytes = convert_singles(
                window, made.end - self._at, target, out, made.size_bytes
            )
            made.end = self._at + at
            made.records += records
            made.temporary_bytes += temporary_bytes
            header = batch_in(window, at, source.position + self._at)
            if header is None or not self._convert_one(header, window[at : at + header.size_bytes], out, made):
                break
        if made.end == self._at and not made.wants_bytes:
            self._convert_large(made, out)
        made.needs_worker = needs_codec(source, made.end, self._slice.rules.target)
        return made

    def _convert_one(self, header: BatchHeader, batch: memoryview, out: bytearray, made: "_Made") -> bool:
        """Whether the batch behind `made` could be put into `out`; if so `made` now covers it."""
        rules = self._slice.rules
        if _has_to_be_opened(header, rules.target):
            written, records, temporary_bytes, fits = _through_codec_into(batch, rules, out, made.size_bytes)
            wanted = written
        else:
            read, written, _, records, _, temporary_bytes, _ = convert_plain(
                batch, 0, rules.target, rules.first_offset, out, made.size_bytes
            )
            fits = read > 0
            wanted = plan(batch, rules.target, header.size_bytes)[3] if not fits else 0
        if not fits:
            made.wants_bytes = 0 if made.size_bytes else wanted
            return False
        made.end += header.size_bytes
        made.size_bytes = written
        made.records += records
        made.temporary_bytes += temporary_bytes
        return True

    def _convert_good(self, out: bytearray) -> "_Made":
        """The batches before the one that cannot be converted; without any, what is made ends where it begins."""
        made = _Made(end=self._at, needs_worker=self.needs_worker)
        with contextlib.suppress(ApiError):
            while (header := batch_at(self._slice.source, made.end)) is not None:
                batch = read_window(self._slice.source, made.end, header.size_bytes)
                if not self._convert_one(header, batch, out, made):
                    break
        return made

    def _pad(self, out: bytearray) -> memoryview:
        """An overflow entry over what is left of the promise, or over the first 128 KiB of it."""
        remaining = self._slice.size_bytes - self._produced
        size = max(OVERFLOW_ENTRY.size, min(remaining + 1, PADDING_BYTES))
        out[:size] = _ZEROS[:size]
        OVERFLOW_ENTRY.pack_into(out, 0, -1, max(remaining + 1, SMALLEST_OVERFLOW))
        self._made = _Made(end=self._at, size_bytes=min(size, remaining))
        return memoryview(out)[:size]


@dataclass(slots=True)
class _Made:
    """One chunk: the source position behind it, its size, what it took; whether a codec is needed behind it.

    `wants_bytes`: the room that the first batch would have needed.
    """

    end: int = 0
    size_bytes: int = 0
    records: int = 0
    temporary_bytes: int = 0
    seconds: float = 0.0
    wants_bytes: int = 0
    needs_worker: bool = False


def needs_codec(source: FileSlice, at: int, target: int) -> bool:
    """Whether the batch at `at` has to be opened to be converted."""
    header = batch_at(source, at)
    return header is not None and _has_to_be_opened(header, target)


def _has_to_be_opened(header: BatchHeader, target: int) -> bool:
    return header.magic > target and not header.is_control and bool(header.attributes & CODEC_MASK)


def claim_for(source: FileSlice, at: int, with_codec: bool) -> int:
    """Memory to charge for making and holding a chunk that begins at `at`.

    With a codec that is, beside the buffer, the batch as it is stored and as it grows when it is closed again, and what
    a stream of either kind keeps.
    """
    room = buffer_for(source, at, with_codec)
    if not with_codec:
        return room
    header = batch_at(source, at)
    batch_bytes = 0 if header is None else _closed_again(header) + header.size_bytes
    return room + CODEC_WORKSPACE_BYTES + -(-batch_bytes // CLAIM_STEP_BYTES) * CLAIM_STEP_BYTES


def buffer_for(source: FileSlice, at: int, with_codec: bool) -> int:
    """The part of that which the chunk itself is given."""
    header = batch_at(source, at) if with_codec else None
    return PLAIN_CLAIM_BYTES if header is None else max(PLAIN_CLAIM_BYTES, _closed_again(header))


def _closed_again(header: BatchHeader) -> int:
    """What a compressed batch is expected to take at most once it was opened, converted and compressed."""
    return header.size_bytes + header.size_bytes // 8


def _through_codec(batch: memoryview, rules: ConversionRules) -> Converted:
    """One compressed batch, opened and closed again."""
    return convert_compressed(batch, target=rules.target, first_offset=rules.first_offset, zstd_to=rules.zstd_to)


def _through_codec_into(
    batch: memoryview, rules: ConversionRules, out: bytearray, at: int
) -> tuple[int, int, int, bool]:
    """Where a compressed batch ends in `out` once converted, its records, temporary bytes, whether there was room."""
    converted = _through_codec(batch, rules)
    end = at + converted.size_bytes
    if fits := end <= len(out):
        out[at:end] = converted.data
    return end, converted.records, converted.temporary_bytes, fits
