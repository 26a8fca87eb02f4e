"""What read_committed leaves out of a log: aborted transactions, and all from the first open one on.

| what | where it is from |
|---|---|
| aborted transactions | the transaction indexes, in a folder with producer snapshots, as a broker leaves it |
| open transactions | the newest producer snapshot in the log, and the batches after it |
| either, where a file is missing | the headers and markers of all batches, which are walked over once |

In such a folder a segment without a transaction index has no aborted transaction: the first one makes the file. A
read_committed consumer sees the same: records up to the last stable offset, without those of transactions in the index
(KIP-98).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...protocol.errors import CorruptRecord, DiskFault
from ...protocol.records.batch_header import BatchHeader, batch_headers_in
from ...protocol.records.layout import RECORD_BATCH_OVERHEAD
from ...storage.files.file_handle import ReadableFile
from ...storage.files.file_names import SNAPSHOT, TRANSACTION_INDEX, offset_of_file_name
from ...storage.index.transaction_index import AbortedTransaction, parse_entries
from ...storage.log.batch_scan import batch_headers
from ...storage.producers.control_marker import parse_marker
from ...storage.producers.producer_snapshot import MAX_SNAPSHOT_BYTES, decode_snapshot
from ..places.place_files import PlaceFiles
from .index_files import offset_entries
from .log_end import log_end_offset
from .partition_segments import PartitionSegments
from .segment_location import SegmentFile


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTransactions:
    """The aborted transactions of a log, and the offset (open) up to which all transactions have ended."""

    aborted: tuple[AbortedTransaction, ...]
    last_stable_offset: int


class AbortedBatches:
    """Tells batches of aborted transactions from others."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ends: dict[int, list[tuple[int, int]]] = {}
        for each in sorted(aborted, key=lambda each: each.first_offset):
            self._ends.setdefault(each.producer_id, []).append((each.first_offset, each.last_offset))

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether the batch is data of one."""
        if not header.is_transactional or header.is_control:
            return False
        ranges = self._ends.get(header.producer_id)
        if ranges is None:
            return False
        at = bisect_right(ranges, header.base_offset, key=lambda each: each[0]) - 1
        return at >= 0 and header.base_offset <= ranges[at][1]

    def find_runs_to_keep(self, data: memoryview) -> Iterator[tuple[int, int]]:
        """Start and end (open) of the runs of other batches in `data`; the last one has what is no whole batch."""
        start = 0
        try:
            for header in batch_headers_in(data) if self._ends else ():
                if self.is_aborted(header):
                    if start < header.position:
                        yield start, header.position
                    start = header.end
        except CorruptRecord:
            pass  # the decoder of the run reports it
        yield start, len(data)


def log_transactions(files: PlaceFiles, log: PartitionSegments) -> LogTransactions:
    """The transactions of a log as it is now. Raises: DiskFault."""
    if not log.segments:
        return LogTransactions(aborted=(), last_stable_offset=log.start_offset)
    end = log_end_offset(files, log)
    names = [entry.name for entry in files.entries(log.directory)]
    indexed = _read_indexes(files, log, end, any(name.endswith(SNAPSHOT) for name in names))
    walk = _TransactionScan(first=log.start_offset)
    if indexed is not None:
        walk = _start_at_snapshot(files, log, _snapshot_offsets(names, log, end)) or walk
    walk.scan_log(files, log)
    return LogTransactions(
        aborted=tuple(walk.aborted if indexed is None else indexed),
        last_stable_offset=min(walk.open.values(), default=max(end, log.start_offset)),
    )


def _read_indexes(
    files: PlaceFiles, log: PartitionSegments, end: int, is_of_a_broker: bool
) -> list[AbortedTransaction] | None:
    """What the transaction indexes tell, None where one may be missing. Entries behind a segment's end do not count."""
    if not is_of_a_broker and any(segment.indexes is None for segment in log.segments):
        return None
    found = files.map_items(lambda each: each.read_index(files, TRANSACTION_INDEX), log.segments, near=log.directory)
    aborted: list[AbortedTransaction] = []
    for segment, data in zip(log.segments, found, strict=True):
        behind = end if segment.next_base is None else segment.next_base
        aborted += [each for each in parse_entries(data) if segment.first_offset <= each.last_offset < behind]
    return aborted


@dataclass(slots=True)
class _TransactionScan:
    """Over the batches from offset `first` on. `open` has the first offset of each producer's open transaction."""

    first: int
    open: dict[int, int] = field(default_factory=dict)
    aborted: list[AbortedTransaction] = field(default_factory=list)

    def scan_log(self, files: PlaceFiles, log: PartitionSegments) -> None:
        """Walk to the end of the log; what lies behind damage in a segment is not seen, its reader reports that."""
        for segment in log.segments:
            if segment.next_base is not None and segment.next_base <= self.first:
                continue
            file = segment.open(files)
            try:
                for header in batch_headers(file, _position_before(files, segment, self.first), segment.size_bytes):
                    if header.is_transactional and header.last_offset >= self.first:
                        self._take_batch(header, file)
            except CorruptRecord:
                pass
            finally:
                file.close()

    def _take_batch(self, header: BatchHeader, file: ReadableFile) -> None:
        if not header.is_control:
            self.open.setdefault(header.producer_id, header.base_offset)
            return
        marker = parse_marker(
            file.read(header.size_bytes - RECORD_BATCH_OVERHEAD, header.position + RECORD_BATCH_OVERHEAD)
        )
        if marker is None:
            return
        first = self.open.pop(header.producer_id, None)
        if marker.is_abort and first is not None:
            self.aborted.append(AbortedTransaction(header.producer_id, first, header.last_offset, first))


def _position_before(files: PlaceFiles, segment: SegmentFile, first: int) -> int:
    """A position at or before the batch with offset `first`."""
    if first <= segment.first_offset:
        return segment.start
    entries = offset_entries(files, segment)
    before = int(entries.offsets.searchsorted(first, "right")) - 1
    return max(int(entries.positions[before]), segment.start) if before >= 0 else segment.start


def _start_at_snapshot(files: PlaceFiles, log: PartitionSegments, offsets: Sequence[int]) -> _TransactionScan | None:
    """A walk that begins at the first of these snapshots that can be read, None where none can."""
    for offset in offsets:
        path = f"{log.directory}/{offset:020d}{SNAPSHOT}"
        try:
            producers = decode_snapshot(files.read_whole(path, MAX_SNAPSHOT_BYTES) or b"", path)
        except DiskFault:
            continue
        opened = {each.producer_id: each.transaction_first_offset for each in producers}
        return _TransactionScan(
            first=offset, open={producer: first for producer, first in opened.items() if first >= 0}
        )
    return None


def _snapshot_offsets(names: Iterable[str], log: PartitionSegments, end: int) -> Sequence[int]:
    """The offsets of the snapshots in the log's folder, the newest first; those of uploaded segments are not there."""
    found = [
        offset
        for name in names
        if name.endswith(SNAPSHOT) and len(name) == 20 + len(SNAPSHOT)
        if (offset := offset_of_file_name(name)) is not None and log.start_offset <= offset <= end
    ]
    return sorted(found, reverse=True)
