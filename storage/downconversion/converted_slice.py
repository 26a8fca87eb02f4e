"""A slice of a log that is converted down while it is sent, to a size promised before (KIP-283).

| what the slice holds | promised size |
|---|---|
| F, the first batch that becomes something | max(stored size, converted size of F) |
| whole batches that all vanish | 0 |
| no whole batch, Fetch v0-v2 | 12: an overflow entry, so that the client sees a message larger than its limit |
| no whole batch, Fetch v3 | 0 |

Exactly that many bytes follow: converted chunks, cut at the promised size; or, when they end before it, an overflow
entry (`converted_chunks.py`).

What is kept of a slice is its size and where sending has got to. The conversion of F is not kept but done again: a
codec's result, or the cut in a chunk, depends on nothing but the stored bytes.

Kafka 3.9: `LazyDownConversionRecords`, `RecordsUtil`. Other than Kafka (docs/compatibility.md): checksums are
checked, F never comes twice, all-vanished slices are empty, good batches before a bad one are sent.
"""

from collections.abc import Callable
from typing import NamedTuple

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.compressed_batch import single_bytes
from ...protocol.records.kernel import convert_plain
from ..files.file_slice import FileSlice, Outlet
from .chunk_claims import claim_for
from .conversion_rules import ConversionRules, ConversionStats, has_to_be_opened, is_for_worker, through_codec
from .converted_chunks import LEAST_SHARED_BYTES, OVERFLOW_ENTRY, ConvertedChunks
from .first_batch import plain_first
from .kept_chunks import WHOLE
from .read_window import batch_at, read_window, wide_window
from .relay import Relay
from .shared_chunks import SharedChunks

_NOTHING_YET = ConversionStats()
"""Shared by the slices that wait for their turn: a stalled reader holds hundreds."""

_NOTHING = memoryview(b"")


class Begun(NamedTuple):
    """What `send_at_once` did: bytes taken of the head, and of the slice in whole chunks. If that is not all of it, the
    chunks that are to come, the one that was not taken whole, if any, and how much of it was."""

    head_bytes: int
    done_bytes: int
    chunks: ConvertedChunks | None = None
    unsent: memoryview = _NOTHING
    taken_bytes: int = 0


class ConvertedSlice:
    """`source` as a client of an older magic reads it. `promise` comes first: it tells `size_bytes`.

    `first_magic` and `first_attributes` are those of the first batch, -1 and 0 where there is none. `on_done`, if set,
    hears the stats once, when nothing more will be asked for. `shared` has what other readers get, too.
    """

    __slots__ = (
        "_at",
        "_begins_in_worker",
        "_first",
        "_has_begun",
        "_is_trimmed",
        "first_attributes",
        "first_magic",
        "needs_worker",
        "next_offset",
        "on_done",
        "rules",
        "shared",
        "size_bytes",
        "source",
        "stats",
    )

    def __init__(self, source: FileSlice, rules: ConversionRules, shared: SharedChunks | None = None) -> None:
        self.source = source
        self.rules = rules
        self.shared = shared
        self.stats = _NOTHING_YET
        self.size_bytes = 0
        self._at = 0
        self._has_begun = False
        self.next_offset = rules.first_offset
        self.on_done: Callable[[ConversionStats], None] | None = None
        plain = self._plain_first()
        if plain is not None:
            self._first = None
            self.first_magic, self.first_attributes, self._is_trimmed, size = plain
            self._begins_in_worker = self.needs_worker = False
            self.size_bytes = max(source.size_bytes, size)
            return
        self._first = first = batch_at(source, 0)
        self._is_trimmed = first is not None and first.base_offset < rules.first_offset
        self._begins_in_worker = self.needs_worker = first is not None and is_for_worker(first, rules.target)
        self.first_magic, self.first_attributes = (-1, 0) if first is None else (first.magic, first.attributes)

    def _plain_first(self) -> tuple[int, int, bool, int] | None:
        source, rules = self.source, self.rules
        if not source.size_bytes:
            return None
        return plain_first(
            source.fileno(), source.position, source.size_bytes, rules.target, rules.first_offset, wide_window()
        )

    @property
    def claim_bytes(self) -> int:
        """Memory that `promise` takes."""
        return claim_for(self.source, self._at, self.needs_worker)

    def promise(self) -> bool:
        """Sets `size_bytes`, and `next_offset` to what follows the last whole batch if all of them vanish.

        In a worker if `needs_worker`: a codec is at work, or a large batch. False when it turns out on the way that it
        does, or that more memory has to be claimed: then it is to be called again. Raises: UnsupportedCompression,
        CorruptRecord, InvalidRecord for the first batch that does not vanish; DiskFault.
        """
        if self.size_bytes:  # the first batch was plain sailing
            return True
        header, self._first = self._first, None  # looked at already, kept no longer
        began = self._at
        while (header := header or batch_at(self.source, self._at)) is not None:
            if not self.needs_worker and is_for_worker(header, self.rules.target):
                self.needs_worker = True
                return False
            if self._at > began and self.needs_worker and self.claim_bytes > claim_for(self.source, began, True):
                return False
            self.next_offset = max(self.next_offset, header.last_offset + 1)
            size = self._converted_bytes(header, self._at)
            if size:
                self.size_bytes = max(self.source.size_bytes, size)
                return True
            self._at += header.size_bytes
            header = None
        if self._at == 0 and self.source.size_bytes and self.rules.shows_too_large:
            self.size_bytes = OVERFLOW_ENTRY.size
        return True

    def chunks(self) -> "ConvertedChunks":
        self.stats = ConversionStats()
        return ConvertedChunks(
            self.source,
            self.rules,
            self.size_bytes,
            self.stats,
            needs_worker=self._begins_in_worker,
            is_trimmed=self._is_trimmed,
            shared=self.shared,
            has_begun=self._has_begun,
        )

    def goes_at_once(self, outlet: Outlet) -> bool:
        """Whether it is for `send_at_once`: it begins without a codec, and nothing is kept of it for several readers,
        nor should be."""
        return self.size_bytes > 0 and not self._begins_in_worker and not self._is_for_several(outlet)

    def send_at_once(
        self, head: bytearray, outlet: Outlet, out: bytearray | memoryview, turn_bytes: int
    ) -> Begun | None:
        """Sends `head` and the slice behind it, as far as that is plain sailing; see `broker/network/lazy_piece.py`."""
        source, rules, size_bytes = self.source, self.rules, self.size_bytes
        relay, start = Relay(rules.target, rules.first_offset, rules.chunk_bytes), source.position
        try:
            relay.go(
                source.fileno(),
                start,
                start + source.size_bytes,
                outlet.fileno(),
                wide_window(rules.chunk_bytes),
                out,
                size_bytes,
                turn_bytes,
                False,
                head,
            )
        finally:  # what went before the peer did is counted, too
            head_bytes, done_bytes = relay.head_taken_bytes, relay.sent_bytes
            outlet.took(head_bytes + done_bytes + relay.unsent_taken_bytes)
            self.stats = ConversionStats(
                relay.records,
                relay.temporary_bytes,
                relay.seconds,
                relay.chunks,
                relay.padding_bytes,
                relay.written_bytes > size_bytes,
            )
        if done_bytes == size_bytes:
            return Begun(head_bytes, done_bytes)
        if head_bytes == len(head):
            chunks = self.chunks()
            _, unsent, taken_bytes = chunks.take_up(relay, out)
            return Begun(head_bytes, done_bytes, chunks, unsent, taken_bytes)
        return Begun(head_bytes, 0) if relay.unsent_bytes else None

    def _is_for_several(self, outlet: Outlet) -> bool:
        """Whether chunks of it are kept for several readers, or should be."""
        shared, file = self.shared, self.source.file
        if shared is None or file is None or self.source.size_bytes < LEAST_SHARED_BYTES:
            return False
        if not self._has_begun:
            self._has_begun = True
            shared.begins(file, self.rules.target, self.source.position, self.source.size_bytes, outlet.number)
        known = shared.shared_file(file, self.rules.target)
        if known is None:
            return False
        first_offset = self.rules.first_offset if self._is_trimmed else WHOLE
        return known.is_kept(self.source.position, first_offset) or known.is_worth_keeping

    def done(self) -> None:
        if self.on_done is not None:
            self.on_done(self.stats)

    def _converted_bytes(self, header: BatchHeader, at: int) -> int:
        """The size of one whole batch once it is converted, 0 if it vanishes."""
        rules = self.rules
        batch = read_window(self.source, at, header.size_bytes)
        if has_to_be_opened(header, rules.target):
            return single_bytes(batch, rules.target) or through_codec(batch, rules).size_bytes
        return convert_plain(batch, 0, rules.target, rules.first_offset, None)[1]
