"""The segment that compaction writes, and how it replaces the segments that it was made from.

    <base>.log.cleaned, .index.cleaned, …    being written; discarded after a crash
    <base>.log.swap, …                       complete and synced; after a crash from here on the new segment is used
    the replaced files                       *.deleted
    <base>.log, …                            in place

Source: Kafka 3.9, LocalLog.replaceSegments. `transient_files.py` completes or discards the exchange after a crash.
"""

from collections.abc import Sequence

from ...protocol.errors import DiskFault
from ..files.file_names import CLEANED, LOG, OFFSET_INDEX, SWAP, TIME_INDEX, TRANSACTION_INDEX, segment_file_path
from ..files.files import Files
from ..log.log import Log
from ..log.segment import Segment, open_segment

_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)


class CleanedSegment(Segment):
    """A segment under its `.cleaned` names."""

    __slots__ = ()

    def path(self, suffix: str) -> str:
        return super().path(suffix) + CLEANED

    @classmethod
    def begin(cls, files: Files, directory: str, base_offset: int, created_ms: int) -> "CleanedSegment":
        """A new empty one; files of an earlier attempt are replaced. Raises: DiskFault."""
        for suffix in _SUFFIXES:
            path = segment_file_path(directory, base_offset, suffix) + CLEANED
            if suffix == TRANSACTION_INDEX:
                files.remove(path)
            else:
                files.create(path)
        return cls(files, directory, base_offset, sizes={LOG: 0}, created_ms=created_ms)

    def complete(self, mtime_ms: int) -> None:
        """Syncs all of it to the disk and closes it. `mtime_ms` becomes the file's modification time, from which
        retention takes the age of a segment without timestamps. Raises: DiskFault."""
        self.write_out_and_trim()
        self.sync()
        self.close()
        self.files.set_mtime_ms(self.path(LOG), mtime_ms)

    def discard(self) -> None:
        """Removes its files. Raises: DiskFault."""
        self.close()
        for suffix in _SUFFIXES:
            self.files.remove(self.path(suffix))


def swap_in(log: Log, cleaned: CleanedSegment, replaced: Sequence[Segment], now_ms: int) -> bool:
    """Puts `cleaned`, which is complete, in place of `replaced`; False if the log has lost one of them meanwhile.

    Called in the thread that appends to the log. The folder is not synced. If the disk fails halfway, the log takes no
    more appends, and the next start completes the exchange.

    Raises: DiskFault.
    """
    if log.fault is not None or any(segment not in log.segments for segment in replaced):
        cleaned.discard()
        return False
    base_offset = cleaned.base_offset
    try:
        _rename(cleaned, CLEANED, SWAP)
        log.remove_and_delete_segments(replaced, keep_snapshot_at=base_offset)
        _rename(cleaned, SWAP, "")
        log.segments.insert(open_segment(log.files, log.directory, base_offset, now_ms))
    except DiskFault as fault:
        log.fault = fault
        raise
    return True


def _rename(cleaned: CleanedSegment, old: str, new: str) -> None:
    for suffix in _SUFFIXES:
        plain = segment_file_path(cleaned.directory, cleaned.base_offset, suffix)
        if cleaned.files.exists(plain + old):
            cleaned.files.rename(plain + old, plain + new)
