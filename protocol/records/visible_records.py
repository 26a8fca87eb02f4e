"""A fetched record set to records, as a consumer of some isolation level sees it.

Markers of transactions are never shown. Transactional records of a producer are aborted from the first offset that the
answer lists for it up to its next abort marker. Source: KIP-98; Kafka 3.9, CompletedFetch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..messages.fetch import AbortedTransaction
from .batches import Batch, iter_batches
from .columns import MAX_OFFSET
from .layout import MAX_OPENED_BYTES, ControlType
from .record import Record
from .record_rows import RecordRows, read_rows

CONTROL_TYPE = slice(2, 4)
"""Where the key of a marker says what it is, after its version."""


def visible_records(
    data: memoryview,
    position: int,
    aborted: Sequence[AbortedTransaction] = (),
    most_opened_bytes: int = MAX_OPENED_BYTES,
) -> Iterator[tuple[int, Record | None]]:
    """Each record from `position` on with the offset after it; None for offsets that have no record.

    Raises: CorruptRecord for a wrong checksum or frame, InvalidRecord for broken contents, RecordTooLarge where a batch
    opens to more than `most_opened_bytes`.
    """
    for following, rows in visible_rows(data, position, aborted, most_opened_bytes=most_opened_bytes):
        if rows is None:
            yield following, None
            continue
        for record in rows.records():
            yield record.offset + 1, record


def visible_rows(
    data: memoryview,
    position: int,
    aborted: Sequence[AbortedTransaction] = (),
    end: int = MAX_OFFSET,
    most_opened_bytes: int = MAX_OPENED_BYTES,
) -> Iterator[tuple[int, RecordRows | None]]:
    """The same records, many at a time and up to `end` (open): each time with the offset after them.

    Raises: as `visible_records`.
    """
    for batch, is_visible in _batches_with_visibility(data, aborted):
        for rows in read_rows(batch, position, end, most_opened_bytes) if is_visible else ():
            position = rows.offsets[-1] + 1
            yield position, rows
        # Markers and what compaction took away leave offsets without a record.
        if batch.next_offset > position:
            position = batch.next_offset
            yield position, None


def _batches_with_visibility(data: memoryview, aborted: Sequence[AbortedTransaction]) -> Iterator[tuple[Batch, bool]]:
    """Each batch, and whether it holds records for the reader."""
    coming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    under_way: set[int] = set()
    for batch in iter_batches(data):
        batch.ensure_valid()
        while coming and coming[-1].first_offset <= batch.last_offset:
            under_way.add(coming.pop().producer_id)
        if batch.is_control and _is_abort_marker(batch):
            under_way.discard(batch.producer_id)
        is_aborted = batch.is_transactional and batch.producer_id in under_way
        yield batch, not (batch.is_control or is_aborted)


def _is_abort_marker(batch: Batch) -> bool:
    marker = next(batch.records(), None)
    return marker is not None and bytes(marker.key or b"")[CONTROL_TYPE] == ControlType.ABORT.to_bytes(2, "big")
