"""At startup, completes or undoes a deletion, compaction or split that a crash interrupted.

    *.deleted    go
    *.cleaned    unfinished copies: go; so do the *.swap from their smallest base offset on (an unfinished split)
    *.swap       finished copies: what they replace goes, then they take its name

Source: Kafka 3.9 `LogLoader.load`, `removeTempFilesAndCollectSwapFiles`.
"""

import logging

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
    segments = [name for name in finished if name.endswith(LOG + SWAP)]
    if segments:
        start = min(_base(name) for name in segments)
        end = max(_next_offset(files, f"{directory}/{name}", _base(name)) for name in segments)
        for name in names:
            offset = offset_of(name)
            is_plain = not name.endswith((DELETED, CLEANED, SWAP))
            if is_plain and offset is not None and start <= offset < end:
                _logger.info("%s/%s was replaced and is deleted", directory, name)
                files.remove(f"{directory}/{name}")
    for name in finished:
        _logger.info("%s/%s takes its place", directory, name)
        files.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")


def _next_offset(files: Files, path: str, base_offset: int) -> int:
    handle = files.handle(path)
    next_offset = base_offset
    for header in batch_headers(handle, 0, files.size(path)):
        next_offset = header.last_offset + 1
    handle.close()
    return next_offset


def _base(name: str) -> int:
    return offset_of(name) or 0
