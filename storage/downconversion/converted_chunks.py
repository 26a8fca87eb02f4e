"""The chunks of a converted slice: about 224 KiB of stored bytes each, converted when they are to be sent.

Where the conversion ends before the promised size does, an overflow entry follows that every client takes for the
beginning of a message it has to fetch again:

    offset -1 (8) | size max(remaining + 1, 61) (4) | zeros; a new one every 131072 bytes

A batch that cannot be converted ends the chunks: the client reads what came before, asks again and gets the error.
"""

import contextlib
from collections.abc import Callable
from struct import Struct
from time import perf_counter

from ...protocol.errors import ApiError
from ..files.file_handle import Buffer
from ..files.file_slice import FileSlice, Outlet
from .chunk_claims import PLAIN_CLAIM_BYTES, buffer_for, claim_for
from .chunk_making import ChunkMaking, Made
from .conversion_rules import ConversionRules, ConversionStats, next_is_for_worker
from .kept_chunks import WHOLE, KeptRun
from .read_window import wide_window
from .relay import Relay
from .shared_chunks import SharedChunks, SharedFile

OVERFLOW_ENTRY = Struct(">qi")
SMALLEST_OVERFLOW = 61
PADDING_BYTES = 128 * 1024

LEAST_SHARED_BYTES = 16 * 1024
"""Smaller slices are converted for each reader: that takes no longer than looking for them."""

MADE_A_TURN_BYTES = 64 * 1024
"""A reader in front of others makes one chunk in one go, or small ones of so much: those behind, who find what it made,
catch up and stay close."""

_ZEROS = bytes(PADDING_BYTES)
_NOTHING_MADE = Made()
_NOTHING = memoryview(b"")


class ConvertedChunks:
    """One pass over a converted slice; `broker/network/lazy_piece.py` says who calls what when.

    `_at` is the position in the source up to which chunks have been sent, `_made` what `make` made last, `_skip` how
    much was sent of the chunk at `_at` while others had it, too: nobody holds the rest meanwhile.
    """

    __slots__ = (
        "_at",
        "_has_begun",
        "_made",
        "_produced",
        "_promised_bytes",
        "_rules",
        "_shared",
        "_skip",
        "_source",
        "_stats",
        "_trimmed_from",
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
        is_trimmed: bool = False,
        shared: SharedChunks | None = None,
        has_begun: bool = False,
    ) -> None:
        """`needs_worker`: whether the first batch is for a worker; `is_trimmed`: whether it begins before the first
        offset; `stats` grow by what is sent; `has_begun`: `shared` knows that the slice is being sent."""
        self._source = source
        self._rules = rules
        self._promised_bytes = promised_bytes
        self._stats = stats
        self._at = 0
        self._produced = 0
        self._skip = 0
        self._has_begun = has_begun
        self._made = _NOTHING_MADE
        self._trimmed_from = rules.first_offset if is_trimmed else WHOLE
        self._shared = shared if source.size_bytes >= LEAST_SHARED_BYTES else None
        self.is_padding = False
        self.needs_worker = needs_worker
        self.claim_bytes = self.buffer_bytes = PLAIN_CLAIM_BYTES
        if needs_worker:
            self.claim_bytes = claim_for(source, 0, needs_worker)
            self.buffer_bytes = buffer_for(source, 0, needs_worker)

    def make(self, out: bytearray) -> memoryview | None:
        """The next chunk in `out`, the same until `advance`.

        None when it could not be made this time: `out` was too small, or the next batch turned out to need a worker.
        Raises: EOFError when a part of the chunk may be sent and the rest cannot be made again.
        """
        began = perf_counter()
        while not self.is_padding:
            made = self._make_next(out, self._stored_bytes)
            if made.size_bytes:
                made.seconds = perf_counter() - began
                if self._made.end == made.end and self._made.padding_bytes:
                    _write_overflow(out, made.size_bytes, self._made.padding_bytes)
                    made.padding_bytes = self._made.padding_bytes
                    made.size_bytes += made.padding_bytes
                self._made = made
                if made.size_bytes > self._skip:
                    return memoryview(out)[self._skip : made.size_bytes]
                needs = self._needs
                self.advance()
                if made.needs_worker or self._needs != needs:
                    return None
                continue
            if made.end == self._at and made.wants_bytes:
                self.claim_bytes += made.wants_bytes - self.buffer_bytes
                self.buffer_bytes = made.wants_bytes
                return None
            if made.end == self._at and made.needs_worker == self.needs_worker:
                self.is_padding, self.needs_worker = True, False
                self.claim_bytes = self.buffer_bytes = PLAIN_CLAIM_BYTES
            elif self._move_to(made.end, made.needs_worker):
                return None
        if self._skip or self._made.end > self._at:
            raise EOFError("a chunk that may be sent in part cannot be made again, since its file has changed")
        return self._pad(out)

    def advance(self) -> None:
        """The chunk has been sent."""
        made, stats = self._made, self._stats
        self._count(made)
        stats.padding_bytes += made.padding_bytes
        if not self.is_padding:
            stats.chunks += 1
            self._move_to(made.end, made.needs_worker)

    def _count(self, made: Made) -> None:
        stats = self._stats
        self._skip = max(0, self._skip - made.size_bytes)
        self._produced += made.size_bytes
        stats.records += made.records
        stats.temporary_bytes += made.temporary_bytes
        stats.seconds += made.seconds
        stats.is_truncated = self._produced > self._promised_bytes

    def run(self, out: bytearray, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, memoryview, int]:
        """As `make`, sending and `advance` in turn, with little in between; see `broker/network/lazy_piece.py`.

        Whatever is not plain sailing is made by `make`, for others to send: a batch too large for a chunk, damage, the
        padding that does not fit behind the last plain chunk.
        """
        in_worker, claimed_bytes = self.needs_worker, self.claim_bytes
        if self._skip:
            rest = self.make(out)
            return 0, _NOTHING if rest is None else rest[:most_bytes], 0
        done, unsent, taken = self._relay(out, outlet, most_bytes, turn_bytes)
        if unsent:
            return done, unsent, taken
        turn_bytes = min(most_bytes, turn_bytes)
        if done >= turn_bytes:
            return done, _NOTHING, 0
        if not in_worker:
            return done, self._made_alone(out, most_bytes - done), 0
        return self._run_in_worker(done, out, outlet.try_send, turn_bytes, most_bytes, claimed_bytes)

    def _relay(self, out: bytearray, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, memoryview, int]:
        """As `run`, by one call of the compiled relay; nothing where what comes next is not for it."""
        if self.is_padding or self._at == self._source.size_bytes:
            return 0, _NOTHING, 0
        source, rules = self._source, self._rules
        start = source.position
        relay = Relay(rules.target, rules.first_offset, rules.chunk_bytes)
        try:
            relay.go(
                source.fileno(),
                start + self._at,
                start + source.size_bytes,
                outlet.fileno(),
                wide_window(rules.chunk_bytes),
                out,
                most_bytes,
                turn_bytes,
                self.needs_worker,
            )
        finally:  # what went before the peer did is counted, too
            outlet.took(relay.sent_bytes + relay.unsent_taken_bytes)
            self._count_relayed(relay)
        return self._go_on_behind(relay, out)

    def take_up(self, relay: Relay, out: Buffer) -> tuple[int, memoryview, int]:
        """As `run`, which `relay` did with the first chunks, none of which took a codec, in `out`."""
        self._count_relayed(relay)
        return self._go_on_behind(relay, out)

    def _count_relayed(self, relay: Relay) -> None:
        stats = self._stats
        self._produced += relay.written_bytes
        stats.records += relay.records
        stats.temporary_bytes += relay.temporary_bytes
        stats.seconds += relay.seconds
        stats.chunks += relay.chunks
        stats.padding_bytes += relay.padding_bytes
        stats.is_truncated = self._produced > self._promised_bytes

    def _go_on_behind(self, relay: Relay, out: Buffer) -> tuple[int, memoryview, int]:
        source, start = self._source, self._source.position
        end, needs_worker = relay.end - start, relay.needs_codec
        if relay.unsent_bytes:
            self._at = end
            end, size_bytes, records, temporary_bytes, seconds, padding_bytes = relay.unsent()
            end -= start
        if self.needs_worker:
            with contextlib.suppress(ApiError):  # the frame may be damaged, which making the next chunk finds
                needs_worker = next_is_for_worker(source, end, self._rules.target)
        if not relay.unsent_bytes:
            self._move_to(end, needs_worker)
            return relay.sent_bytes, _NOTHING, 0
        self._made = Made(
            end,
            size_bytes,
            records,
            temporary_bytes,
            seconds,
            needs_worker=needs_worker,
            padding_bytes=padding_bytes,
        )
        unsent = memoryview(out)[relay.unsent_at : relay.unsent_at + relay.unsent_bytes]
        return relay.sent_bytes, unsent, relay.unsent_taken_bytes

    def send_shared(self, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, bool]:
        """Sends the next chunks as far as others had them, too, or will want them: how many bytes, and whether the rest
        is for later, because the socket is full, or because others are to catch up.

        Takes no memory of the reader's. What the socket does not take is not held, but found again, or made again from
        where it was sent up to.
        """
        shared, file = self._shared, self._source.file
        if shared is None or file is None or self.needs_worker or self.is_padding:
            return 0, False
        if not self._has_begun:
            self._has_begun = True
            shared.begins(file, self._rules.target, self._source.position, self._source.size_bytes, outlet.number)
        known = shared.shared_file(file, self._rules.target)
        if known is None:
            return 0, False
        done, made_bytes, turn_bytes = 0, 0, min(most_bytes, turn_bytes)
        while True:
            sent, is_full = self._send_kept(known, outlet, most_bytes - done, turn_bytes - done)
            done += sent
            if is_full or made_bytes >= MADE_A_TURN_BYTES:
                return done, is_full or done < most_bytes
            if done >= turn_bytes or not known.is_worth_keeping:
                return done, False
            made = self._make_shared(known, outlet.number)
            if not made:
                return done, False
            made_bytes += made

    def _send_kept(self, known: SharedFile, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, bool]:
        """Bytes sent of the chunks that are kept from here on, and whether the socket would not take all."""
        source, stats = self._source, self._stats
        end = source.position + source.size_bytes
        run = KeptRun(source.position + self._at, self._skip)
        try:
            known.send(run, self._first_offset, end, outlet, most_bytes, turn_bytes)
        finally:
            self._skip = run.skip
            self._produced += run.written_bytes
            stats.records += run.records
            stats.temporary_bytes += run.temporary_bytes
            stats.is_truncated = self._produced > self._promised_bytes
        if run.end - source.position != self._at:
            self._move_to(run.end - source.position, run.needs_worker)
        return run.sent_bytes, run.is_full

    @property
    def _first_offset(self) -> int:
        """The one that matters to the chunk at `_at`."""
        return WHOLE if self._at else self._trimmed_from

    def _make_shared(self, known: SharedFile, reader: int) -> int:
        """The size of the next chunk, made and kept for others; 0 if it is better made alone, or nobody has memory."""
        source, chunk_bytes = self._source, self._rules.chunk_bytes
        position, end = source.position + self._at, source.position + source.size_bytes
        if self.needs_worker or position == end:
            return 0
        others_begin = known.next_start(position)
        if others_begin is not None and others_begin - position >= LEAST_SHARED_BYTES:
            chunk_bytes = min(chunk_bytes, others_begin - position)  # a smaller chunk is dearer to find than to make
        room = known.room(PLAIN_CLAIM_BYTES)
        if room is None:
            known.pause()
            return 0
        began = perf_counter()
        with room:
            made = self._make_next(room, chunk_bytes)
        if made.size_bytes:
            self._stats.seconds += perf_counter() - began
            self._stats.chunks += 1
            known.keep(position, self._first_offset, made, source.position + made.end, reader)
        return made.size_bytes

    def _made_alone(self, out: bytearray, most_bytes: int) -> memoryview:
        """The chunk for which a run ended before its turn did; empty when that is not made here, or not in `out`."""
        made = None if self.needs_worker else self.make(out)
        return _NOTHING if made is None else made[:most_bytes]

    def _run_in_worker(
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
        while done < turn_bytes and self.needs_worker:
            if self.claim_bytes > claimed_bytes or self.buffer_bytes > len(out):
                break
            made = self.make(out)
            if made is None:
                break
            chunk = made[: most_bytes - done]
            sent = send(chunk) if len(chunk) < most_bytes - done else 0
            if sent < len(chunk):
                return done, chunk, sent
            done += sent
            self.advance()
        return done, _NOTHING, 0

    def _move_to(self, at: int, needs_worker: bool) -> bool:
        """What lies before `at` is sent; whether the next chunk needs another worker, claim or buffer than the last."""
        needs, was_in_worker = self._needs, self.needs_worker
        self._at, self.needs_worker = at, needs_worker
        if was_in_worker or needs_worker or self.buffer_bytes != PLAIN_CLAIM_BYTES:  # else they stay as they are
            self.claim_bytes = claim_for(self._source, self._at, self.needs_worker)
            self.buffer_bytes = buffer_for(self._source, self._at, self.needs_worker)
        return self._needs != needs

    @property
    def _needs(self) -> tuple[bool, int, int]:
        return self.needs_worker, self.claim_bytes, self.buffer_bytes

    @property
    def _stored_bytes(self) -> int:
        """What the next chunk is made of at most: no more than the last time if it is made again, as the relay may have
        made it of less than `make` would."""
        made_of, most_bytes = self._made.end - self._at, self._rules.chunk_bytes
        return min(made_of, most_bytes) if made_of > 0 else most_bytes

    def _make_next(self, out: bytearray | memoryview, stored_bytes: int) -> Made:
        making = ChunkMaking(self._source, self._rules)
        return making.make(self._at, out, in_worker=self.needs_worker, stored_bytes=stored_bytes)

    def _pad(self, out: bytearray) -> memoryview:
        """An overflow entry over what is left of the promise, or over the first 128 KiB of it."""
        remaining = self._promised_bytes - self._produced
        size = _write_overflow(out, 0, remaining)
        self._made = Made(end=self._at, size_bytes=min(size, remaining), padding_bytes=min(size, remaining))
        return memoryview(out)[:size]


def _write_overflow(out: bytearray, at: int, promised_bytes: int) -> int:
    """An overflow entry at `at`, over what is left of a promise or the first 128 KiB of it: its size."""
    size = max(OVERFLOW_ENTRY.size, min(promised_bytes, PADDING_BYTES))
    out[at : at + size] = _ZEROS[:size]
    OVERFLOW_ENTRY.pack_into(out, at, -1, max(promised_bytes + 1, SMALLEST_OVERFLOW))
    return size
