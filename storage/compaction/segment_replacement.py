"""A segment written by compaction in place of others, and how it takes their place.

    <base>.log.cleaned, .index.cleaned, …    being written; worthless after a crash
    <base>.log.swap, …                       complete and synced; from here on a crash ends in the new segment
    the replaced files                       *.deleted
    <base>.log, …                            in place

Source: Kafka 3.9, LocalLog.replaceSegments; `transient_files.py` is the other half, at the start after a crash.
"""

from collections.abc import Sequence

from ...protocol.errors import DiskFault
from ..files.file_names import CLEANED, LOG, OFFSET_INDEX, SWAP, TIME_INDEX, TRANSACTION_INDEX, segment_file
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
        """An empty one; what a former attempt left is gone. Raises: DiskFault."""
        for suffix in _SUFFIXES:
            path = segment_file(directory, base_offset, suffix) + CLEANED
            if suffix == TRANSACTION_INDEX:
                files.remove(path)
            else:
                files.create(path)
        return cls(files, directory, base_offset, sizes={LOG: 0}, created_ms=created_ms)

    def complete(self, mtime_ms: int) -> None:
        """Returns when all of it is on the disk; readers judge its age by `mtime_ms`. Raises: DiskFault."""
        self.finish()
        self.sync()
        self.close()
        self.files.set_modified_ms(self.path(LOG), mtime_ms)

    def discard(self) -> None:
        """Removes its files. Raises: DiskFault."""
        self.close()
        for suffix in _SUFFIXES:
            self.files.remove(self.path(suffix))


def swap_in(log: Log, cleaned: CleanedSegment, replaced: Sequence[Segment], now_ms: int) -> bool:
    """Whether `cleaned`, complete, has taken the place of `replaced`; not when the log has lost one of them meanwhile.

    Called where the log is appended to. The folder is not synced. A disk that fails halfway leaves a log that takes no
    more appends; the next start finishes the exchange.

    Raises: DiskFault.
    """
    if log.fault is not None or any(segment not in log.segments for segment in replaced):
        cleaned.discard()
        return False
    base_offset = cleaned.base_offset
    try:
        _rename(cleaned, CLEANED, SWAP)
        log.set_aside(replaced, keep_snapshot_at=base_offset)
        _rename(cleaned, SWAP, "")
        log.segments.insert(open_segment(log.files, log.directory, base_offset, now_ms))
    except DiskFault as fault:
        log.fault = fault
        raise
    return True


def _rename(cleaned: CleanedSegment, old: str, new: str) -> None:
    for suffix in _SUFFIXES:
        plain = segment_file(cleaned.directory, cleaned.base_offset, suffix)
        if cleaned.files.exists(plain + old):
            cleaned.files.rename(plain + old, plain + new)
