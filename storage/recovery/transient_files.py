"""At startup, completes or undoes a deletion, compaction or split that a crash interrupted.

    *.deleted    are deleted
    *.cleaned    unfinished copies: are deleted, with *.swap from their smallest base offset on (an unfinished split)
    *.swap       finished copies: the files they replace are deleted, then they get the final names

A `.log.swap` that is empty or damaged does not replace an existing segment. Kafka fails to start at a damaged one, and
replaces the records by an empty one.

Source: Kafka 3.9 `LogLoader.load`, `removeTempFilesAndCollectSwapFiles`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...protocol.errors import CorruptRecord
from ..files.file_handle import ReadableFile
from ..files.file_names import CLEANED, DELETED, LOG, SWAP, offset_of_file_name
from ..files.files import DirectoryEntry, Files
from ..log.batch_scan import batch_headers

_DAMAGED_COPY = "is empty or damaged and is deleted: the segment is here"

_logger = logging.getLogger(__name__)


class SegmentFileReader(Protocol):
    """Reads `.log.swap` files: `Files`, or those of another place."""

    def handle(self, path: str) -> ReadableFile: ...

    def size(self, path: str) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TransientFilesPlan:
    """The names to delete, with the reason for each, and the `.swap` names to rename after that, in this order."""

    removed: dict[str, str]
    renamed: tuple[str, ...]


def plan_transient_files(files: SegmentFileReader, directory: str, names: Sequence[str]) -> TransientFilesPlan:
    """Decides which transient files to delete and which to rename; nothing is changed. Raises: DiskFault."""
    cleaned = [name for name in names if name.endswith(CLEANED)]
    smallest_cleaned = min((_base_offset_of(name) for name in cleaned), default=None)
    swaps = [name for name in names if name.endswith(SWAP)]
    unfinished = [name for name in swaps if smallest_cleaned is not None and _base_offset_of(name) >= smallest_cleaned]
    left = [name for name in names if name.endswith(DELETED)] + unfinished + cleaned
    removed = dict.fromkeys(left, "is left from before and is deleted")
    finished = [name for name in swaps if name not in removed]
    ends: dict[int, int] = {}
    for name in [name for name in finished if name.endswith(LOG + SWAP)]:
        next_offset, is_whole = _read_to_the_end(files, f"{directory}/{name}", _base_offset_of(name))
        if is_whole or name.removesuffix(SWAP) not in names:
            ends[_base_offset_of(name)] = next_offset
        else:
            removed |= {other: _DAMAGED_COPY for other in finished if _base_offset_of(other) == _base_offset_of(name)}
    if ends:
        replaced = _files_between(names, min(ends), max(ends.values()))
        removed |= dict.fromkeys(replaced, "was replaced and is deleted")
    renamed = tuple(name for name in finished if name not in removed)
    return TransientFilesPlan(removed=removed, renamed=renamed)


def clean_up_transient_files(files: Files, directory: str, entries: list[DirectoryEntry]) -> list[DirectoryEntry]:
    """Deletes or renames all transient files; returns the entries of the folder after that.

    Raises: DiskFault.
    """
    names = [entry.name for entry in entries if not entry.is_directory]
    if not has_transient(names):
        return entries
    plan = plan_transient_files(files, directory, names)
    for name, reason in plan.removed.items():
        _logger.log(logging.WARNING if reason == _DAMAGED_COPY else logging.INFO, "%s/%s %s", directory, name, reason)
        files.remove(f"{directory}/{name}")
    for name in plan.renamed:
        _logger.info("%s/%s takes its place", directory, name)
        files.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")
    return files.entries(directory)


def has_transient(names: Sequence[str]) -> bool:
    """Whether a deletion, compaction or split is under way or was interrupted."""
    return any(name.endswith((DELETED, CLEANED, SWAP)) for name in names)


def _files_between(names: Sequence[str], start: int, end: int) -> list[str]:
    """The files without a transient suffix that belong to segments from `start` to `end` (exclusive)."""
    return [
        name
        for name in names
        if not name.endswith((DELETED, CLEANED, SWAP))
        if (offset := offset_of_file_name(name)) is not None and start <= offset < end
    ]


def _read_to_the_end(files: SegmentFileReader, path: str, base_offset: int) -> tuple[int, bool]:
    """The offset after the last readable batch, and whether the file consists of whole batches, at least one."""
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


def _base_offset_of(name: str) -> int:
    return offset_of_file_name(name) or 0
