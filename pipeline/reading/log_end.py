"""Where a log ends: the offset after the last whole batch of its newest segment."""

from ...protocol.errors import CorruptRecord, DiskFault
from ...storage.batch_headers import batch_headers
from ...storage.files import Files
from .index_files import offset_entries
from .log_files import PartitionLog


def log_end_offset(files: Files, log: PartitionLog) -> int:
    """The next offset that the log would give out. Damage ends it here, where a reader will say so.

    The newest segments are walked from their last index entry on, if that is where a batch starts.
    """
    for segment in reversed(log.segments):
        entries = offset_entries(files, segment)
        starts = [0]
        if len(entries) and entries.positions[-1] < segment.size_bytes:
            starts.insert(0, int(entries.positions[-1]))
        for start in starts:
            last = _last_offset(files, segment.path, start, segment.size_bytes)
            if last is not None and last >= segment.base_offset:
                return last + 1
    return log.segments[-1].base_offset if log.segments else log.start_offset


def _last_offset(files: Files, path: str, start: int, end: int) -> int | None:
    file = files.handle(path)
    last = None
    try:
        for header in batch_headers(file, start, end):
            if header.magic > 2:
                break
            last = header.last_offset
    except (CorruptRecord, DiskFault):
        pass
    finally:
        file.close()
    return last
