"""One segment: a file of batches and the indexes beside it.

    <base offset>.log  .index  .timeindex  .txnindex (only with aborted transactions)

As in Kafka 3.9 `LogSegment.append`, an append gets an index entry if more than `index.interval.bytes` were written
since the last entry; so the first append of a segment never gets one.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...protocol.errors import CorruptRecord, DiskFault
from ...protocol.records.batch_header import BatchHeader
from ..files.clock import Clock
from ..files.file_handle import Buffer, FileHandle
from ..files.file_names import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, segment_file_path
from ..files.file_slice import FileSlice
from ..files.files import Files
from ..index.offset_index import OffsetIndex
from ..index.time_index import TimeIndex
from ..index.transaction_index import TransactionIndex
from .batch_scan import batch_headers, find_batch, valid_batch_headers
from .log_config import LogConfig

MAX_RELATIVE_OFFSET = 2**31 - 1
MAX_SEGMENT_BYTES = 2**31 - 1
DEFAULT_INDEX_INTERVAL_BYTES = 4096

_logger = logging.getLogger(__name__)


class BatchPlace(NamedTuple):
    """The position of a batch in the file, and its size."""

    position: int
    size_bytes: int


class Segment:
    """The batches from `base_offset` on, up to the next segment's; `size` is the number of valid bytes in the file."""

    __slots__ = (
        "_first_timestamp",
        "_last_append",
        "_last_found",
        "_tail_is_dirty",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "directory",
        "file",
        "files",
        "jitter_ms",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_index",
        "size",
        "time_index",
        "transaction_index",
    )

    def __init__(
        self, files: Files, directory: str, base_offset: int, *, sizes: dict[str, int], created_ms: int
    ) -> None:
        """A segment whose files exist; `sizes` maps the suffix of each file to its size."""
        self.files = files
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = created_ms
        self.jitter_ms = 0
        self.file: FileHandle = files.handle(self.path(LOG))
        self.size = sizes[LOG]
        self.offset_index = OffsetIndex(files.handle(self.path(OFFSET_INDEX)), sizes.get(OFFSET_INDEX, 0))
        self.time_index = TimeIndex(files.handle(self.path(TIME_INDEX)), sizes.get(TIME_INDEX, 0))
        self.transaction_index: TransactionIndex | None = None
        if TRANSACTION_INDEX in sizes:
            self.transaction_index = TransactionIndex(files, self.path(TRANSACTION_INDEX), sizes[TRANSACTION_INDEX])
        self.bytes_since_index_entry = 0
        self.max_timestamp = -1
        self.max_timestamp_offset = base_offset
        self._first_timestamp: int | None = None
        self._last_append: tuple[int, int] | None = None  # first offset, position
        self._last_found: tuple[int, BatchPlace] | None = None  # the offset that was looked for, and its batch
        self._tail_is_dirty = False
        if self.time_index.count:
            self.load_max_timestamp()

    @classmethod
    def create(cls, files: Files, directory: str, base_offset: int, config: LogConfig, created_ms: int) -> "Segment":
        """An empty segment with new files, which replace those of the same names."""
        for suffix in (LOG, OFFSET_INDEX, TIME_INDEX):
            files.create(segment_file_path(directory, base_offset, suffix))
        files.remove(segment_file_path(directory, base_offset, TRANSACTION_INDEX))
        segment = cls(files, directory, base_offset, sizes={LOG: 0}, created_ms=created_ms)
        segment.jitter_ms = config.pick_jitter_ms()
        if config.preallocate:
            files.allocate(segment.file, config.segment_bytes)
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG)}, size={self.size})"

    def path(self, suffix: str) -> str:
        return segment_file_path(self.directory, self.base_offset, suffix)

    # Appending

    def append(
        self, pieces: Sequence[Buffer], size_bytes: int, first_offset: int, last_offset: int, max_timestamp: int,
        max_timestamp_offset: int, config: LogConfig,
    ) -> None:  # fmt: skip
        """Writes one record set at the end; if that fails, none of it counts.

        Raises: DiskFault.
        """
        position = self.size
        if self._tail_is_dirty:
            self._trim_tail()
        try:
            written = self.files.write(self.file, pieces, position)
        except DiskFault:
            self._tail_is_dirty = True
            with suppress(DiskFault):  # the next append tries again, and so does closing the segment
                self._trim_tail()
            raise
        assert written == size_bytes, "the pieces of an append do not add up to its size"
        self.size = position + size_bytes
        self._last_append = (first_offset, position)
        if position == 0:
            self._first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = max_timestamp_offset
        if self.bytes_since_index_entry > config.index_interval_bytes:
            self.add_index_entries(last_offset, position)
            self.bytes_since_index_entry = 0
        self.bytes_since_index_entry += size_bytes

    def _trim_tail(self) -> None:
        """Cuts off what a failed append has left after the valid bytes. Raises: DiskFault."""
        self.file.truncate(self.size)
        self._tail_is_dirty = False

    def add_index_entries(self, last_offset: int, position: int) -> None:
        """Adds index entries for the record set at `position`, and for the largest timestamp so far."""
        self.offset_index.append(last_offset - self.base_offset, position)
        self.time_index.append_if_later(self.max_timestamp, self.max_timestamp_offset - self.base_offset)

    def should_roll(
        self, size_bytes: int, last_offset: int, max_timestamp: int, config: LogConfig, clock: Clock
    ) -> bool:
        """Whether a record set needs a new segment (Kafka 3.9 `LogSegment.shouldRoll`)."""
        size = self.size
        if size + size_bytes > config.segment_bytes or not 0 <= last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
            return True
        if size:
            first = self.first_timestamp() if self._first_timestamp is None else self._first_timestamp
            waited_ms = max_timestamp - first if first >= 0 else clock.now_ms() - self.created_ms
            if waited_ms > config.roll_ms - self.jitter_ms:
                return True
        limit = config.segment_index_bytes
        return (
            self.offset_index.count >= limit // OffsetIndex.layout.size
            # The largest timestamp gets the last entry when the segment closes.
            or self.time_index.count >= limit // TimeIndex.layout.size - 1
        )

    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch, -1 when there is none."""
        if self._first_timestamp is None:
            if not self.size:
                return -1
            first = next(self.batches(), None)
            self._first_timestamp = first.max_timestamp if first is not None else -1
        return self._first_timestamp

    # Reading

    def batches(self, position: int = 0, end: int | None = None) -> Iterator[BatchHeader]:
        """The headers of the whole batches from `position` to `end` (exclusive).

        Raises: CorruptRecord, DiskFault.
        """
        return batch_headers(self.file, position, self.size if end is None else end)

    def valid_batch_headers(self) -> Iterator[BatchHeader]:
        """The headers of all batches, after checking their checksums.

        Raises: CorruptRecord at the first batch whose checksum is wrong; DiskFault.
        """
        return valid_batch_headers(self.file, 0, self.size)

    def locate(self, offset: int) -> BatchPlace | None:
        """The first batch whose last offset is at or above `offset`, or None.

        It keeps the last result: a fetch that waits asks two or three times, and readers follow each other.

        Raises: CorruptRecord, DiskFault.
        """
        known = self._last_found
        if known is not None and known[0] == offset:
            return known[1]
        last = self._last_append
        if last is not None and offset >= last[0]:
            start = last[1]
        else:
            start = self.offset_index.position_of(offset - self.base_offset)
        found = self._find(offset, start)
        if found is None:
            return None
        place = BatchPlace(*found)
        self._last_found = offset, place
        return place

    def _find(self, offset: int, start: int) -> tuple[int, int] | None:
        """Calls `find_batch`; if it finds nothing from `start`, searches the whole segment: the index may be wrong."""
        try:
            found = find_batch(self.file, offset, start, self.size)
            if found is not None or not start:
                return found
        except CorruptRecord:
            if not start:
                raise
        found = find_batch(self.file, offset, 0, self.size)
        if found is not None:
            _logger.warning("%s has a wrong entry and is made anew", self.path(OFFSET_INDEX))
            self._rebuild_offset_index()
        return found

    def _rebuild_offset_index(self) -> None:
        self.offset_index.truncate_to_count(0)
        since_entry = 0
        for header in self.batches():
            if since_entry > DEFAULT_INDEX_INTERVAL_BYTES:
                self.offset_index.append(header.last_offset - self.base_offset, header.position)
                since_entry = 0
            since_entry += header.size_bytes

    def read(
        self, offset: int, max_bytes: int, end: int, min_one_message: bool = False, allow_partial: bool = False
    ) -> FileSlice | None:
        """A slice from the batch that contains `offset` up to the position `end`; None when there is no such batch.

        With `min_one_message` it has the whole first batch even if that is larger than `max_bytes`. Otherwise such a
        batch is cut with `allow_partial`, and without it the slice is empty.
        """
        place = self.locate(offset)
        if place is None:
            return None
        position, first_bytes = place
        if first_bytes > max_bytes:
            if min_one_message:
                max_bytes = first_bytes
            elif not allow_partial:
                max_bytes = 0
        size = end - position if end - position < max_bytes else max_bytes
        return FileSlice(self.file.open(), position, size if size > 0 else 0, self.base_offset)

    def next_offset(self) -> int:
        """The offset after the last batch, found by a scan from the last index entry on.

        Raises: CorruptRecord, DiskFault.
        """
        next_offset = self.base_offset
        if self.size:
            position = self.offset_index.position_of(MAX_RELATIVE_OFFSET)
            for header in self.batches(position if 0 <= position < self.size else 0):
                next_offset = header.last_offset + 1
        return next_offset

    # Timestamps

    def load_max_timestamp(self) -> None:
        """Sets the largest timestamp from the last entry of the time index."""
        last = self.time_index.last_entry()
        self.max_timestamp, relative_offset = last if last is not None else (-1, 0)
        self.max_timestamp_offset = self.base_offset + relative_offset

    def largest_timestamp(self) -> int:
        """The largest timestamp of a record; if no record has one, the modification time of the file."""
        if self.max_timestamp >= 0:
            return self.max_timestamp
        return self.files.mtime_ms(self.file.path)

    # Aborted transactions

    def ensure_transaction_index(self) -> TransactionIndex:
        """The transaction index, created at the first call."""
        if self.transaction_index is None:
            self.transaction_index = TransactionIndex(self.files, self.path(TRANSACTION_INDEX), 0)
        return self.transaction_index

    # Ending

    def truncate_to(self, offset: int, now_ms: int) -> int:
        """Drops the batches from the one that contains `offset` on; returns how many bytes were dropped."""
        place = self.locate(offset)
        self.offset_index.truncate_to(offset - self.base_offset)
        self.time_index.truncate_to(offset - self.base_offset)
        if self.transaction_index is not None:
            self.transaction_index.truncate_to(offset)
        dropped = 0
        if place is not None:
            dropped = self.size - place.position
            self.file.truncate(place.position)
            self.size = place.position
        if not self.size:
            self.created_ms = now_ms
            self._first_timestamp = None
        self._last_append = self._last_found = None
        self.bytes_since_index_entry = 0
        self._find_max_timestamp()
        return dropped

    def renew_last_time_entry(self) -> None:
        """Replaces the last time index entry by one for the largest timestamp, found by a scan."""
        self.time_index.truncate_to_count(max(0, self.time_index.count - 1))
        self._find_max_timestamp()
        self.write_out_and_trim()

    def _find_max_timestamp(self) -> None:
        self.load_max_timestamp()
        with suppress(CorruptRecord):
            for header in self.batches(self.offset_index.position_of(self.max_timestamp_offset - self.base_offset)):
                if header.max_timestamp > self.max_timestamp:
                    self.max_timestamp = header.max_timestamp
                    self.max_timestamp_offset = header.last_offset

    def reset_indexes(self) -> None:
        """Empties all indexes, which are then filled again."""
        self.offset_index.truncate_to_count(0)
        self.time_index.truncate_to_count(0)
        if self.transaction_index is not None:
            self.transaction_index.reset()
        self.max_timestamp = -1
        self.max_timestamp_offset = self.base_offset
        self.bytes_since_index_entry = 0
        self._last_append = self._last_found = None
        self._first_timestamp = None

    def write_out_and_trim(self) -> None:
        """Writes the time entry of the largest timestamp and all index entries, and cuts the files after them."""
        if self.max_timestamp >= 0:
            self.time_index.append_if_later(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.offset_index.write_out()
        self.time_index.write_out()
        self._trim_tail()
        self.offset_index.trim()
        self.time_index.trim()

    def sync(self) -> None:
        """Returns when batches and written index entries are on the disk; safe beside appends.

        Raises: DiskFault.
        """
        self.file.sync()
        self.offset_index.sync_entries()
        self.time_index.sync_entries()
        if self.transaction_index is not None:
            self.transaction_index.sync()

    def close(self) -> None:
        """Closes the files; slices that are being sent keep theirs open."""
        self.file.close()
        self.offset_index.close()
        self.time_index.close()
        if self.transaction_index is not None:
            self.transaction_index.close()

    def existing_files(self) -> list[str]:
        """The paths of this segment's files that exist."""
        paths = [self.path(suffix) for suffix in (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)]
        return [path for path in paths if self.files.exists(path)]


def open_segment(files: Files, directory: str, base_offset: int, created_ms: int = 0) -> Segment:
    """The segment whose files are in `directory`, for callers that have no listing of its files."""
    sizes = {}
    for kind in (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX):
        path = segment_file_path(directory, base_offset, kind)
        if files.exists(path):
            sizes[kind] = files.size(path)
    return Segment(files, directory, base_offset, sizes=sizes, created_ms=created_ms)
