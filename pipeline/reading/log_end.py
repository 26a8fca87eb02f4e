"""Where a log ends: the offset after the last whole batch of its newest segment, where that begins if it is empty."""

from ...protocol.errors import CorruptRecord, DiskFault
from ...storage.files.files import Files
from ...storage.log.batch_scan import batch_headers
from .index_files import offset_entries
from .log_files import PartitionLog


def log_end_offset(files: Files, log: PartitionLog) -> int:
    """The offset that the next record would get. A damaged batch ends the log here; its reader reports it.

    Only the newest segment counts: compaction may have removed the last batches of those before it. It is walked from
    its last index entry on, if that is where a batch starts.
    """
    if not log.segments:
        return log.start_offset
    newest = log.segments[-1]
    entries = offset_entries(files, newest)
    starts = [0]
    if len(entries) and entries.positions[-1] < newest.size_bytes:
        starts.insert(0, int(entries.positions[-1]))
    for start in starts:
        last = _last_offset(files, newest.path, start, newest.size_bytes)
        if last is not None and last >= newest.base_offset:
            return last + 1
    return newest.base_offset


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
