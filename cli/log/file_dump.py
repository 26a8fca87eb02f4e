"""Finds the log files under a path and dumps each as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...protocol.errors import CorruptRecord, DiskFault
from ...storage.files import file_names
from ...storage.files.files import Files
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from .index_rows import IndexedSegment, offset_index_rows, time_index_rows, transaction_index_rows
from .metadata_rows import is_metadata_log_file, metadata_rows
from .segment_rows import Row, problem_row, segment_rows
from .state_file_rows import STATE_FILES, snapshot_rows, state_file_rows

INDEXES = (file_names.OFFSET_INDEX, file_names.TIME_INDEX, file_names.TRANSACTION_INDEX)
SUFFIXES = (file_names.LOG, *INDEXES, file_names.SNAPSHOT)
TRANSIENT = (file_names.DELETED, file_names.CLEANED, file_names.SWAP)
KNOWN = f"{', '.join(SUFFIXES)}, {', '.join(STATE_FILES)}"


@dataclass(frozen=True, slots=True)
class FileDump:
    """`records`: show records with keys and values. `index_sanity`: show only the problems of indexes."""

    files: Files
    records: bool = False
    index_sanity: bool = False

    def files_to_dump(self, path: Path) -> list[Path]:
        """Returns the files of a folder, or the file that `path` names, in the order to show them.

        Raises:
            CommandFailure: there is no such file, or none of a known kind.
        """
        if not path.exists():
            raise CommandFailure(f"{path}: there is no such file", "", EXIT_BAD_USAGE)
        if path.is_dir():
            found = [entry for entry in sorted(path.iterdir()) if entry.is_file() and has_known_name(entry)]
            if not found:
                raise CommandFailure(
                    f"{path}: there are no files of a log in this folder",
                    "Give the folder of a partition, such as TOPIC-0, or a file of it.",
                    EXIT_BAD_USAGE,
                )
        elif has_known_name(path):
            found = [path]
        else:
            raise CommandFailure(f"{path}: expected a folder, or one of {KNOWN}", "", EXIT_BAD_USAGE)
        return self._find_indexes(found) if self.index_sanity else found

    def rows(self, path: Path) -> Iterator[Row]:
        """Yields the rows of one file; the last row is of kind "summary".

        Raises:
            DiskFault: the file cannot be read.
        """
        counts: dict[str, int] = {}
        for row in self._read_rows(path):
            counts[row["kind"]] = counts.get(row["kind"], 0) + 1
            if not self.index_sanity or row["kind"] == "problem":
                yield row
        yield {"kind": "summary", "size_bytes": self.files.size(str(path)), "counts": counts}

    def _find_indexes(self, found: list[Path]) -> list[Path]:
        wanted = []
        for path in found:
            if path.name.endswith(file_names.LOG):
                wanted += [path.with_suffix(suffix) for suffix in INDEXES if path.with_suffix(suffix).exists()]
            elif path.suffix in INDEXES:
                wanted.append(path)
        if not wanted:
            raise CommandFailure(f"{found[0]}: there is no index beside it", "", EXIT_BAD_USAGE)
        return sorted(set(wanted))

    def _read_rows(self, path: Path) -> Iterator[Row]:
        if path.name in STATE_FILES:
            yield from state_file_rows(self.files, str(path.parent), path.name)
            return
        if is_metadata_log_file(path):
            yield from metadata_rows(self.files, path)
            return
        suffix = next(suffix for suffix in SUFFIXES if name_without_transient_suffix(path).endswith(suffix))
        readers: dict[str, Callable[[Path], Iterator[Row]]] = {
            file_names.LOG: self._segment_rows,
            file_names.OFFSET_INDEX: self._offset_index_rows,
            file_names.TIME_INDEX: self._time_index_rows,
            file_names.TRANSACTION_INDEX: self._transaction_index_rows,
            file_names.SNAPSHOT: self._snapshot_rows,
        }
        yield from readers[suffix](path)

    def _segment_rows(self, path: Path) -> Iterator[Row]:
        handle = self.files.handle(str(path))
        size_now = partial(self.files.size, str(path))
        yield from segment_rows(handle, size_now, base_offset_of(path), records=self.records)

    def _offset_index_rows(self, path: Path) -> Iterator[Row]:
        yield from self._compare_with_segment(path, offset_index_rows)

    def _time_index_rows(self, path: Path) -> Iterator[Row]:
        yield from self._compare_with_segment(path, time_index_rows)

    def _compare_with_segment(self, path: Path, rows: Callable[..., Iterator[Row]]) -> Iterator[Row]:
        log = path.parent / (
            name_without_transient_suffix(path).rpartition(".")[0] + file_names.LOG + transient_suffix(path)
        )
        if not log.exists():
            yield problem_row(f"{log.name}, which it belongs to, is missing")
            return
        segment_file = self.files.handle(str(log))
        try:
            segment = IndexedSegment(segment_file, self.files.size(str(log)), base_offset_of(path))
            yield from rows(self.files.handle(str(path)), self.files.size(str(path)), segment)
        except CorruptRecord as fault:
            yield problem_row(f"{log.name}, which it belongs to, cannot be read: {fault}")

    def _transaction_index_rows(self, path: Path) -> Iterator[Row]:
        handle = self.files.handle(str(path))
        yield from transaction_index_rows(handle, self.files.size(str(path)), base_offset_of(path))

    def _snapshot_rows(self, path: Path) -> Iterator[Row]:
        try:
            yield from snapshot_rows(self.files, str(path))
        except DiskFault as fault:
            yield problem_row(str(fault))


def has_known_name(path: Path) -> bool:
    """Whether the name is that of a log, index, snapshot or state file."""
    return (
        path.name in STATE_FILES
        or is_metadata_log_file(path)
        or (
            name_without_transient_suffix(path).endswith(SUFFIXES)
            and file_names.offset_of_file_name(path.name) is not None
        )
    )


def base_offset_of(path: Path) -> int:
    """Returns the base offset in a file's name, 0 without one."""
    return file_names.offset_of_file_name(path.name) or 0


def name_without_transient_suffix(path: Path) -> str:
    """The name without .deleted, .cleaned or .swap."""
    return path.name.removesuffix(transient_suffix(path))


def transient_suffix(path: Path) -> str:
    """The ending .deleted, .cleaned or .swap of a name, or nothing."""
    return next((ending for ending in TRANSIENT if path.name.endswith(ending)), "")
