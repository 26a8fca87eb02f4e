"""The chunks of a converted slice: about 128 KiB of stored bytes each, converted when they are to be sent.

Where the conversion ends before the promised size does, an overflow entry follows that every client takes for the
beginning of a message it has to fetch again:

    offset -1 (8) | size max(remaining + 1, 61) (4) | zeros; a new one every 131072 bytes

A batch that cannot be converted ends the chunks: the client reads what came before, asks again and gets the error.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from time import perf_counter

from ..protocol.errors import ApiError
from ..protocol.records.kernel import convert_plain, plan
from ..protocol.records.single import convert_singles
from .batch_headers import BatchHeader
from .chunk_claims import buffer_for, claim_for
from .conversion_rules import ConversionRules, ConversionStats, has_to_be_opened, needs_codec, through_codec
from .relay import Relay
from .slices import FileSlice, Outlet
from .windows import batch_at, batch_in, kept_window, read_window

OVERFLOW_ENTRY = Struct(">qi")
SMALLEST_OVERFLOW = 61
PADDING_BYTES = 128 * 1024

_ZEROS = bytes(PADDING_BYTES)


class ConvertedChunks:
    """One pass over a converted slice; `broker/sender.py` says who calls what when.

    `_at` is the position in the source up to which chunks have been sent, `_made` what `make` made last.
    """

    __slots__ = (
        "_at",
        "_made",
        "_produced",
        "_promised_bytes",
        "_rules",
        "_source",
        "_stats",
        "buffer_bytes",
        "claim_bytes",
        "is_padding",
        "needs_worker",
    )

    def __init__(
        self,
        source: FileSlice,
        rules: ConversionRules,
        promised_bytes: int,
        stats: ConversionStats,
        *,
        needs_worker: bool,
    ) -> None:
        """`needs_worker`: whether the first batch has to be opened; `stats` grow by what is sent."""
        self._source = source
        self._rules = rules
        self._promised_bytes = promised_bytes
        self._stats = stats
        self._at = 0
        self._produced = 0
        self._made = _Made()
        self.is_padding = False
        self.needs_worker = needs_worker
        self.claim_bytes = claim_for(source, 0, needs_worker)
        self.buffer_bytes = buffer_for(source, 0, needs_worker)

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
        made, stats = self._made, self._stats
        self._produced += made.size_bytes
        stats.records += made.records
        stats.temporary_bytes += made.temporary_bytes
        stats.seconds += made.seconds
        stats.is_truncated = self._produced > self._promised_bytes
        if self.is_padding:
            stats.padding_bytes += made.size_bytes
        else:
            stats.chunks += 1
            self._move_to(made)

    def run(self, out: bytearray, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, memoryview, int]:
        """As `make`, sending and `advance` in turn, with little in between; see `broker/sender.py`.

        Whatever is not plain sailing is made by `make`, for others to send: a batch too large for a chunk, damage,
        the padding.
        """
        in_worker, claimed_bytes = self.needs_worker, self.claim_bytes
        done, unsent, taken = self._relay(out, outlet, most_bytes, turn_bytes)
        if unsent:
            return done, unsent, taken
        if not in_worker:
            return done, self._made_alone(out, done, min(most_bytes, turn_bytes), most_bytes), 0
        turn_bytes = min(most_bytes, turn_bytes)
        return self._run_with_codec(done, out, outlet.try_send, turn_bytes, most_bytes, claimed_bytes)

    def _relay(self, out: bytearray, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, memoryview, int]:
        """As `run`, by one call of the compiled relay; nothing where what comes next is not for it."""
        if self.is_padding or self._at == self._source.size_bytes:
            return 0, memoryview(out)[:0], 0
        source, rules, stats, with_codec = self._source, self._rules, self._stats, self.needs_worker
        start = source.position
        relay = Relay(rules.target, rules.first_offset, rules.chunk_bytes)
        try:
            relay.go(
                source.fileno(),
                start + self._at,
                start + source.size_bytes,
                outlet.fileno(),
                kept_window(rules.chunk_bytes),
                out,
                most_bytes,
                turn_bytes,
                with_codec,
            )
        finally:  # what went before the peer did is counted, too
            outlet.took(relay.sent_bytes + relay.unsent_taken_bytes)
            self._produced += relay.written_bytes
            stats.records += relay.records
            stats.temporary_bytes += relay.temporary_bytes
            stats.seconds += relay.seconds
            stats.chunks += relay.chunks
            stats.is_truncated = self._produced > self._promised_bytes
        unsent = memoryview(out)[: relay.unsent_bytes]
        if unsent:
            end, size_bytes, records, temporary_bytes, seconds = relay.unsent()
            self._at = relay.end - start
            made = self._made = _Made(end - start, size_bytes, records, temporary_bytes, seconds)
        else:
            made = _Made(relay.end - start)
        made.needs_worker = relay.needs_codec
        if with_codec:
            with contextlib.suppress(ApiError):  # the frame may be damaged, which making the next chunk finds
                made.needs_worker = needs_codec(source, made.end, rules.target)
        if not unsent:
            self._move_to(made)
        return relay.sent_bytes, unsent, relay.unsent_taken_bytes

    def _made_alone(self, out: bytearray, sent_bytes: int, turn_bytes: int, most_bytes: int) -> memoryview:
        """The chunk for which a run ended before its turn did; empty when that is not made here, or not in `out`."""
        made = None
        if sent_bytes < turn_bytes and not self.needs_worker:
            made = self.make(out)
        return memoryview(out)[:0] if made is None else made[: most_bytes - sent_bytes]

    def _run_with_codec(
        self,
        done: int,
        out: bytearray,
        send: Callable[[memoryview], int],
        turn_bytes: int,
        most_bytes: int,
        claimed_bytes: int,
    ) -> tuple[int, memoryview, int]:
        """As `run`, in a worker, of whose turn `done` bytes are over, within what was claimed when it began. The chunk
        that ends the response is not sent: who sees it is to find it counted."""
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
        self.claim_bytes = claim_for(self._source, self._at, self.needs_worker)
        self.buffer_bytes = buffer_for(self._source, self._at, self.needs_worker)
        return self.needs_worker != was_in_worker

    def _convert(self, out: bytearray) -> "_Made":
        """What the batches from `_at` on become, as far as chunk, buffer and good batches reach."""
        try:
            return self._convert_with_codec(out) if self.needs_worker else self._convert_plain(out)
        except ApiError:
            return self._convert_good(out)

    def _convert_plain(self, out: bytearray) -> "_Made":
        rules, source = self._rules, self._source
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
        header = batch_at(self._source, self._at)
        if header is not None:
            self._convert_one(header, read_window(self._source, self._at, header.size_bytes), out, made)

    def _convert_with_codec(self, out: bytearray) -> "_Made":
        """As `_convert_plain`, those with a codec opened and closed again; what is not of the usual kind by itself."""
        made = _Made(end=self._at)
        source, target = self._source, self._rules.target
        window = read_window(source, self._at, self._rules.chunk_bytes)
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
        made.needs_worker = needs_codec(source, made.end, self._rules.target)
        return made

    def _convert_one(self, header: BatchHeader, batch: memoryview, out: bytearray, made: "_Made") -> bool:
        """Whether the batch behind `made` could be put into `out`; if so `made` now covers it."""
        rules = self._rules
        if has_to_be_opened(header, rules.target):
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
        made = _Made(end=self._at)
        with contextlib.suppress(ApiError):
            while (header := batch_at(self._source, made.end)) is not None:
                batch = read_window(self._source, made.end, header.size_bytes)
                if not self._convert_one(header, batch, out, made):
                    break
        made.needs_worker = self.needs_worker and made.end == self._at  # else a frame is read, which may be the damage
        return made

    def _pad(self, out: bytearray) -> memoryview:
        """An overflow entry over what is left of the promise, or over the first 128 KiB of it."""
        remaining = self._promised_bytes - self._produced
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


def _through_codec_into(
    batch: memoryview, rules: ConversionRules, out: bytearray, at: int
) -> tuple[int, int, int, bool]:
    """Where a compressed batch ends in `out` once converted, its records, temporary bytes, whether there was room."""
    converted = through_codec(batch, rules)
    end = at + converted.size_bytes
    if fits := end <= len(out):
        out[at:end] = converted.data
    return end, converted.records, converted.temporary_bytes, fits
