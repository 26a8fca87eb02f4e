"""Splits a segment whose offsets are too far apart for its indexes; old brokers' compaction could make such a segment.

The parts are written as `*.cleaned`, synced, and renamed to `*.swap` from the last to the first, so that after an
interruption the split is either undone or completed (`transient_files.py`). Then the old segment is deleted and the
parts get their final names (KAFKA-6264).
"""

from contextlib import suppress

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch_header import BatchHeader
from ..files.file_handle import FileHandle
from ..files.file_names import CLEANED, LOG, OFFSET_INDEX, SWAP, TIME_INDEX, segment_file_path
from ..log.log_config import LogConfig
from ..log.segment import MAX_RELATIVE_OFFSET, Segment

_COPY_BYTES = 1 << 20


def split_segment(segment: Segment, config: LogConfig, now_ms: int) -> list[Segment]:
    """Splits the segment; returns segments with the same batches and empty indexes.

    The caller has checked that the first batch fits to the segment's base offset.

    Raises: DiskFault.
    """
    files, directory = segment.files, segment.directory
    runs = _part_ends(segment)
    bases = [segment.base_offset, *(run[0].base_offset for run in runs[1:])]
    for base, run in zip(bases, runs, strict=True):
        copy = files.handle(segment_file_path(directory, base, LOG) + CLEANED)
        _copy(segment.file, run[0].position, run[-1].end, copy)
    for base in reversed(bases):
        path = segment_file_path(directory, base, LOG)
        files.rename(path + CLEANED, path + SWAP)
    segment.close()
    for path in segment.existing_files():
        files.remove(path)
    parts = []
    for base, run in zip(bases, runs, strict=True):
        path = segment_file_path(directory, base, LOG)
        files.rename(path + SWAP, path)
        for suffix in (OFFSET_INDEX, TIME_INDEX):
            files.create(segment_file_path(directory, base, suffix))
        parts.append(Segment(files, directory, base, sizes={LOG: run[-1].end - run[0].position}, created_ms=now_ms))
        parts[-1].jitter_ms = config.pick_jitter_ms()
    return parts


def _part_ends(segment: Segment) -> list[list[BatchHeader]]:
    """The first and last batch of each part; a part ends before an offset that is too far from its base offset."""
    runs: list[list[BatchHeader]] = [[]]
    base = segment.base_offset
    with suppress(CorruptRecord):  # recovery would cut what follows
        for header in segment.batches():
            if header.last_offset - base > MAX_RELATIVE_OFFSET:
                runs.append([])
                base = header.base_offset
            runs[-1] = [*runs[-1][:1], header]
    return runs


def _copy(source: FileHandle, start: int, end: int, target: FileHandle) -> None:
    written = 0
    while start + written < end:
        part = source.read(min(_COPY_BYTES, end - start - written), start + written)
        written += target.write([part], written)
    target.sync()
    target.close()
