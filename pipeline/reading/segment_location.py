"""One stored segment: its file or object, the byte range to read, and where its indexes are."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ...storage.files.file_handle import ReadableFile
from ...storage.files.file_names import LOG, SWAP
from ..places.place_files import PlaceFiles
from .compressed_chunks import ChunkedFile, ChunkLayout

MAX_INDEX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Bytes `start` to `start + size_bytes` of the file at `path`."""

    path: str
    start: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFile:
    """One segment. `next_base` is the base offset of the one after it, None for the newest.

    Only bytes `start` to `size_bytes` (open) are read. Left out are preallocated zeros at the end, batches that another
    segment has, too, and batches of a leader epoch that was cut off; `cut_at` is then the first offset that counts.
    `chunks` says how the bytes are stored where they are not as in the log, `indexes` where the indexes are if not
    beside the file, by suffix. `version`: that of the object when it was listed.
    """

    path: str
    base_offset: int
    next_base: int | None
    size_bytes: int
    start: int = 0
    cut_at: int | None = None
    chunks: ChunkLayout | None = None
    indexes: Mapping[str, FilePart] | None = None
    version: Hashable = None

    @property
    def is_newest(self) -> bool:
        return self.next_base is None

    @property
    def first_offset(self) -> int:
        return self.base_offset if self.cut_at is None else self.cut_at

    @property
    def bytes_to_read(self) -> int:
        return self.size_bytes - self.start

    def path_with_suffix(self, suffix: str) -> str:
        """The path of the segment's file with another suffix."""
        swap = SWAP if self.path.endswith(SWAP) else ""
        return self.path.removesuffix(swap).removesuffix(LOG) + suffix + swap

    def open(self, files: PlaceFiles, read_to: int | None = None) -> ReadableFile:
        """The segment for reading, in order up to `read_to` at most; by default to its end."""
        return open_segment(files, self, self.size_bytes if read_to is None else read_to)

    def read_index(self, files: PlaceFiles, suffix: str) -> bytes:
        """The index with this suffix; nothing where there is none. Raises: DiskFault."""
        if self.indexes is None:
            return files.read_whole(self.path_with_suffix(suffix), MAX_INDEX_BYTES) or b""
        part = self.indexes.get(suffix)
        if part is None:
            return b""
        file = files.handle(part.path, part.start + part.size_bytes)
        try:
            return file.read(part.size_bytes, part.start)
        finally:
            file.close()


class StoredBytes(Protocol):
    """How the bytes of a segment are stored: of the segment itself, or of a part of it."""

    @property
    def path(self) -> str: ...
    @property
    def chunks(self) -> ChunkLayout | None: ...
    @property
    def version(self) -> Hashable: ...


def open_segment(files: PlaceFiles, stored: StoredBytes, read_to: int) -> ReadableFile:
    """A segment's bytes as the log has them, whatever way they are stored; read ahead stops at `read_to`. Reading an
    object of another version than `stored` has raises DiskFault.
    """
    if stored.chunks is not None:
        return ChunkedFile(files, stored.path, stored.chunks, read_to, stored.version)
    return files.handle(stored.path, read_to, stored.version)
