"""Recovers segments after a crash: keeps whole batches, cuts the rest, rebuilds indexes, epochs and producer state.

Source: Kafka 3.9 `LogSegment.recover`.
"""

import logging

from ...protocol.errors import CorruptRecord, InvalidRecord
from ...protocol.records.batch_header import BatchHeader
from ..log.leader_epochs import LeaderEpochs
from ..log.log_config import LogConfig
from ..log.preallocated_zeros import is_all_zeros
from ..log.producer_replay import replay
from ..log.segment import MAX_RELATIVE_OFFSET, Segment
from ..producers.producer_tracking import ProducerTracking

LOOKED_AT_BYTES = 1 << 20  # the part of a cut tail that is checked for zeros

_logger = logging.getLogger(__name__)


class SegmentOverflow(Exception):
    """A segment holds an offset too far from its base for the indexes (KAFKA-6264); it has to be split."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(f"{segment.file.path} holds offsets above its base offset + 2147483647")
        self.segment = segment


def recover_segment(
    segment: Segment,
    config: LogConfig,
    epochs: LeaderEpochs,
    producers: ProducerTracking,
    next_base: int | None = None,
) -> int:
    """Rebuilds a segment's indexes, updates `epochs` and `producers` to its end, and cuts its damaged tail.

    Returns the number of bytes that were cut off. `producers` must be in the state at the segment's base offset.
    `next_base`: the base offset of the next segment, if any.

    Raises: SegmentOverflow, DiskFault.
    """
    segment.reset_indexes()
    valid_bytes = last_indexed = 0
    next_offset = segment.base_offset
    fault: Exception | None = None
    try:
        for header in segment.valid_batch_headers():
            _check_offsets(segment, header, next_offset, next_base)
            _replay_batch(segment, header, epochs, producers)
            if header.max_timestamp > segment.max_timestamp:
                segment.max_timestamp = header.max_timestamp
                segment.max_timestamp_offset = header.last_offset
            if valid_bytes - last_indexed > config.index_interval_bytes:
                segment.add_index_entries(header.last_offset, valid_bytes)
                last_indexed = valid_bytes
            valid_bytes = header.end
            next_offset = header.last_offset + 1
    except (CorruptRecord, InvalidRecord) as found:
        fault = found
    cut_bytes = segment.size - valid_bytes
    if cut_bytes:
        _log_truncation(segment, valid_bytes, next_offset, fault)
    segment.size = valid_bytes
    segment.bytes_since_index_entry = valid_bytes - last_indexed
    segment.write_out_and_trim()
    return cut_bytes


def _log_truncation(segment: Segment, valid_bytes: int, next_offset: int, fault: Exception | None) -> None:
    """Logs how much is cut off; for preallocated zeros without a warning."""
    path, cut_bytes = segment.file.path, segment.size - valid_bytes
    if is_all_zeros(segment.file, valid_bytes, min(segment.size, valid_bytes + LOOKED_AT_BYTES)):
        _logger.info("%s: the last %d bytes were set aside for more batches and are cut off", path, cut_bytes)
        return
    if fault is not None:
        _logger.warning("recovery of %s stops at byte %d: %s", path, valid_bytes, fault)
    _logger.warning(
        "%s: the last %d bytes are not whole valid batches and are cut off, it ends at byte %d, next offset %d",
        path, cut_bytes, valid_bytes, next_offset,
    )  # fmt: skip


def _check_offsets(segment: Segment, header: BatchHeader, next_offset: int, next_base: int | None) -> None:
    lowest = header.base_offset if header.magic >= 2 else header.last_offset
    if lowest < next_offset or header.last_offset < lowest:
        raise CorruptRecord(
            f"the batch at position {header.position} has offsets {lowest}-{header.last_offset}, {next_offset} is next"
        )
    if next_base is not None and header.last_offset >= next_base:
        raise CorruptRecord(
            f"the batch at position {header.position} ends at offset {header.last_offset}, beyond {next_base}"
        )
    if not 0 <= header.last_offset - segment.base_offset <= MAX_RELATIVE_OFFSET:
        if header.position == 0:
            raise CorruptRecord(f"the first batch has offset {lowest}, far from {segment.base_offset}")
        raise SegmentOverflow(segment)


def _replay_batch(segment: Segment, header: BatchHeader, epochs: LeaderEpochs, producers: ProducerTracking) -> None:
    if header.magic < 2:
        return
    if header.leader_epoch > epochs.latest:
        epochs.assign(header.leader_epoch, header.base_offset)
    if header.producer_id >= 0:
        replay(segment, header, producers)
