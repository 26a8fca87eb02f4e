"""At startup, completes or undoes a deletion, compaction or split that a crash interrupted.

    *.deleted    go
    *.cleaned    unfinished copies: go; so do the *.swap from their smallest base offset on (an unfinished split)
    *.swap       finished copies: what they replace goes, then they take its name

A `.log.swap` that is empty or damaged does not replace a segment of its name: Kafka gives up at a damaged one, and
puts an empty one in place of the records.

Source: Kafka 3.9 `LogLoader.load`, `removeTempFilesAndCollectSwapFiles`.
"""

import logging

from ...protocol.errors import CorruptRecord
from ..files.file_names import CLEANED, DELETED, LOG, SWAP, offset_of
from ..files.files import DirectoryEntry, Files
from ..log.batch_scan import batch_headers

_logger = logging.getLogger(__name__)


def settle_transient_files(files: Files, directory: str, entries: list[DirectoryEntry]) -> list[DirectoryEntry]:
    """What is in the folder once no transient file is left.

    Raises: DiskFault.
    """
    names = [entry.name for entry in entries if not entry.is_directory]
    if not any(name.endswith((DELETED, CLEANED, SWAP)) for name in names):
        return entries
    cleaned = [name for name in names if name.endswith(CLEANED)]
    smallest_cleaned = min((_base(name) for name in cleaned), default=None)
    swaps = [name for name in names if name.endswith(SWAP)]
    unfinished = [name for name in swaps if smallest_cleaned is not None and _base(name) >= smallest_cleaned]
    for name in [name for name in names if name.endswith(DELETED)] + unfinished + cleaned:
        _logger.info("%s/%s is left from before and is deleted", directory, name)
        files.remove(f"{directory}/{name}")
    finished = [name for name in swaps if name not in unfinished]
    if finished:
        _put_in_place(files, directory, names, finished)
    return files.entries(directory)


def _put_in_place(files: Files, directory: str, names: list[str], finished: list[str]) -> None:
    ends = {}
    for name in [name for name in finished if name.endswith(LOG + SWAP)]:
        next_offset, is_whole = _read_to_the_end(files, f"{directory}/{name}", _base(name))
        if is_whole or name.removesuffix(SWAP) not in names:
            ends[_base(name)] = next_offset
        else:
            _logger.warning("%s/%s is empty or damaged and is deleted: the segment is here", directory, name)
            finished = _without(files, directory, finished, _base(name))
    if ends:
        _remove_replaced(files, directory, names, min(ends), max(ends.values()))
    for name in finished:
        _logger.info("%s/%s takes its place", directory, name)
        files.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")


def _without(files: Files, directory: str, swaps: list[str], base_offset: int) -> list[str]:
    """What is left of `swaps` once the files of this segment are removed."""
    for name in swaps:
        if _base(name) == base_offset:
            files.remove(f"{directory}/{name}")
    return [name for name in swaps if _base(name) != base_offset]


def _remove_replaced(files: Files, directory: str, names: list[str], start: int, end: int) -> None:
    for name in names:
        offset = offset_of(name)
        is_plain = not name.endswith((DELETED, CLEANED, SWAP))
        if is_plain and offset is not None and start <= offset < end:
            _logger.info("%s/%s was replaced and is deleted", directory, name)
            files.remove(f"{directory}/{name}")


def _read_to_the_end(files: Files, path: str, base_offset: int) -> tuple[int, bool]:
    """The offset after the last batch that can be read, and whether the file has batches and nothing else."""
    handle = files.handle(path)
    size = files.size(path)
    next_offset, position = base_offset, 0
    try:
        for header in batch_headers(handle, 0, size):
            next_offset, position = header.last_offset + 1, header.end
    except CorruptRecord as fault:
        _logger.warning("%s", fault)
    finally:
        handle.close()
    return next_offset, 0 < position == size


def _base(name: str) -> int:
    return offset_of(name) or 0
