"""Rebuilds the producer state of a log from its batches, after a crash or a truncation.

Source: Kafka 3.9 `UnifiedLog.rebuildProducerState`.
"""

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.layout import RECORD_BATCH_OVERHEAD
from ..producers.producer_tracking import ProducerTracking
from .segment import Segment
from .segments import Segments

MAX_MARKER_BYTES = 4096


def replay(segment: Segment, header: BatchHeader, producers: ProducerTracking, *, index: bool = True) -> None:
    """Applies a batch to `producers`; with `index` it adds an aborted transaction to the segment's index.

    Raises: InvalidRecord, DiskFault.
    """

    def body() -> bytes:
        size = min(header.size_bytes - RECORD_BATCH_OVERHEAD, MAX_MARKER_BYTES)
        return segment.file.read(size, header.position + RECORD_BATCH_OVERHEAD)

    for aborted in producers.replay(header, body):
        if index:
            segment.ensure_transaction_index().append(aborted)


def rebuild_producers(producers: ProducerTracking, segments: Segments, start: int, end: int) -> None:
    """Sets `producers` to their state at the offset `end`: loads the newest snapshot, then applies the batches after.

    Raises: CorruptRecord, DiskFault.
    """
    offset = producers.restore_from_snapshot(end, start)
    for segment in segments.reaching(offset, end):
        position = (
            segment.offset_index.position_of(offset - 1 - segment.base_offset) if offset > segment.base_offset else 0
        )
        for header in segment.batches(position):
            if header.last_offset >= end:
                break
            if header.magic >= 2 and header.base_offset >= offset:
                replay(segment, header, producers, index=False)
