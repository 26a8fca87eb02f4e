"""Moves a log to another log directory while it is being written to (KIP-113).

    <other directory>/<topic>-<partition>.<32 hex>-future    the copy while it grows

1. A worker copies the closed segments, one after the other, until little is left.
2. While appends wait, the active segment is closed and the rest is copied and synced. Then, in this order, the old
   folder is marked as moved, the copy gets the log's name, and the old folder is renamed for deletion.

After a crash between these renames both folders have the log's name; the old one has the mark (`MOVED_MARK`). A copy
that was not completed is removed at the next start. Unlike Kafka, which replicates batch by batch, this copies files.
"""

from dataclasses import dataclass, field
from uuid import uuid4

from ..files.file_handle import OpenFile
from ..files.file_names import (
    FUTURE_DIRECTORY,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    log_dir_name,
    log_future_dir_name,
    parse_log_folder_name,
)
from ..files.files import Files
from ..files.partition_metadata import FILE_NAME as METADATA_FILE
from ..log.leader_epochs import FILE_NAME as EPOCHS_FILE
from ..log.log import Log
from ..log.segment import Segment

CHUNK_BYTES = 1 << 20
SMALL_FILE_BYTES = 1 << 28
MOVED_MARK = "moved-to"
_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)


@dataclass(slots=True, kw_only=True)
class SegmentCopy:
    """The copy of one closed segment; it holds the files open, so that retention may delete them meanwhile."""

    segment: Segment
    folder: str
    files: Files
    sources: list[tuple[str, OpenFile]] = field(default_factory=list)

    def run(self) -> None:
        """Copies the files and syncs them; may run in a worker thread. Raises: DiskFault."""
        for name, opened in self.sources:
            target = self.files.handle(f"{self.folder}/{name}")
            self.files.create(target.path)
            try:
                position = 0
                while chunk := opened.read(CHUNK_BYTES, position):
                    position += target.write([chunk], position)
                target.sync()
            finally:
                target.close()
        self.sources.clear()


class LogMove:
    """The move of one log to another directory. `folder` is the folder of the copy."""

    def __init__(self, files: Files, log: Log, destination: str) -> None:
        """Makes the copy's folder. Raises: DiskFault."""
        self.log = log
        self.destination = destination
        self.folder = f"{destination}/{log_future_dir_name(log.topic, log.partition, uuid4().hex)}"
        self._files = files
        self._copied: dict[int, Segment] = {}
        files.make_directory(self.folder)
        self._copy_small_file(METADATA_FILE)

    @property
    def remaining_bytes(self) -> int:
        """Bytes of the log that the copy does not have yet."""
        return sum(segment.size for segment in self.log.segments if not self._has_copied(segment))

    @property
    def copied_bytes(self) -> int:
        return sum(segment.size for segment in self.log.segments if self._has_copied(segment))

    @property
    def copied_end(self) -> int:
        """The first offset that the copy does not have."""
        missing = [segment.base_offset for segment in self.log.segments if not self._has_copied(segment)]
        return missing[0] if missing else self.log.log_end_offset

    def next_copy(self) -> SegmentCopy | None:
        """The copy of the next closed segment, to be run; None when only the active one is left. Raises: DiskFault."""
        for segment in self.log.segments:
            if segment is not self.log.segments.active and not self._has_copied(segment):
                return self._plan_segment_copy(segment)
        return None

    def note_copy(self, copy: SegmentCopy) -> None:
        """Notes that `copy` has been run."""
        self._copied[copy.segment.base_offset] = copy.segment

    def copy_rest_and_rename(self) -> str:
        """Copies the rest, gives the copy the log's name, and returns the new path of the log's folder.

        Nothing may be appended while this runs. The old folder keeps its name until the caller renames it.

        Raises: DiskFault.
        """
        self.log.roll()
        self.log.flush()
        for segment in self.log.segments:
            if not self._has_copied(segment):
                copy = self._plan_segment_copy(segment)
                copy.run()
                self.note_copy(copy)
        self._drop_outdated_copies()
        self._copy_small_file(EPOCHS_FILE)
        for offset in self.log.producers.snapshots.offsets:
            self._copy_small_file(self.log.producers.snapshots.path(offset).rpartition("/")[2])
        self._files.sync_directory(self.folder)
        final = f"{self.destination}/{log_dir_name(self.log.topic, self.log.partition)}"
        self._files.replace(f"{self.log.directory}/{MOVED_MARK}", final.encode())
        self._files.rename(self.folder, final)
        self._files.sync_directory(self.destination)
        return final

    def abandon(self) -> None:
        """Removes the copy. Raises: DiskFault."""
        self._files.remove_directory(self.folder)

    def _has_copied(self, segment: Segment) -> bool:
        return self._copied.get(segment.base_offset) is segment

    def _plan_segment_copy(self, segment: Segment) -> SegmentCopy:
        paths = [segment.path(suffix) for suffix in _SUFFIXES if self._files.exists(segment.path(suffix))]
        sources = [(path.rpartition("/")[2], self._files.handle(path).open()) for path in paths]
        return SegmentCopy(segment=segment, folder=self.folder, files=self._files, sources=sources)

    def _drop_outdated_copies(self) -> None:
        """Removes copies of segments that retention has deleted meanwhile."""
        kept = {segment.base_offset for segment in self.log.segments}
        for base_offset, segment in self._copied.items():
            if base_offset not in kept:
                for suffix in _SUFFIXES:
                    self._files.remove(f"{self.folder}/{segment.path(suffix).rpartition('/')[2]}")

    def _copy_small_file(self, name: str) -> None:
        data = self._files.read_whole(f"{self.log.directory}/{name}", SMALL_FILE_BYTES)
        if data is not None:
            self._files.replace(f"{self.folder}/{name}", data)


def was_moved_away(files: Files, folder: str) -> bool:
    """Whether the log in `folder` was moved away: its mark names a folder, and that exists."""
    target = files.read_whole(f"{folder}/{MOVED_MARK}", 1 << 16)
    return target is not None and files.is_directory(target.decode("utf-8", "replace"))


def find_unfinished_copies(files: Files, directories: list[str]) -> list[str]:
    """The folders of copies that were not completed."""
    return [
        f"{directory}/{entry.name}"
        for directory in directories
        for entry in files.entries(directory)
        if entry.is_directory and _is_future_folder(entry.name)
    ]


def _is_future_folder(name: str) -> bool:
    parsed = parse_log_folder_name(name)
    return parsed is not None and parsed.suffix == FUTURE_DIRECTORY
