"""A segment that is stored in chunks, each compressed for itself: read by position as if it were not.

A chunk of `original_bytes` of the log (the last one has fewer) is a zstd frame of its own, or plain. Source of the
format: Aiven's tiered-storage-for-apache-kafka, `ChunkIndex`.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from ...protocol.errors import CorruptRecord
from ...storage.files.file_handle import ReadableFile


class _FileOpener(Protocol):
    def handle(self, path: str, read_to: int = 0, version: Hashable = None) -> ReadableFile: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLayout:
    """How a segment of `file_bytes` is stored. `stored_bytes` has the size of each chunk in the object."""

    original_bytes: int
    file_bytes: int
    stored_bytes: tuple[int, ...]
    compressed: bool


class ChunkedFile:
    """Bytes of the log by position; the chunks that hold them are fetched and opened, one is kept."""

    def __init__(
        self, files: _FileOpener, path: str, chunks: ChunkLayout, read_to: int, version: Hashable = None
    ) -> None:
        self.path = path
        self._chunks = chunks
        self._starts = [0, *accumulate(chunks.stored_bytes)]
        last = min(-(-read_to // chunks.original_bytes), len(chunks.stored_bytes))
        self._object = files.handle(path, self._starts[last], version)
        self._kept: tuple[int, bytes] = (-1, b"")

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the segment's end. Raises: CorruptRecord, DiskFault."""
        return b"".join(self._read_parts(size, position))

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """How many bytes from `position` were put into `buffer`. Raises: CorruptRecord, DiskFault."""
        view = memoryview(buffer)
        done = 0
        for part in self._read_parts(len(view), position):
            view[done : done + len(part)] = part
            done += len(part)
        return done

    def close(self) -> None:
        """Let go of what was fetched."""
        self._object.close()
        self._kept = (-1, b"")

    def _read_parts(self, size: int, position: int) -> Iterator[memoryview]:
        end = min(position + size, self._chunks.file_bytes)
        while position < end:
            number, at = divmod(position, self._chunks.original_bytes)
            part = memoryview(self._get_chunk(number))[at : at + end - position]
            yield part
            position += len(part)

    def _get_chunk(self, number: int) -> bytes:
        kept, data = self._kept
        if kept != number:
            data = self._read_chunk(number)
            self._kept = (number, data)
        return data

    def _read_chunk(self, number: int) -> bytes:
        chunks = self._chunks
        size = min(chunks.original_bytes, chunks.file_bytes - number * chunks.original_bytes)
        data = self._object.read(chunks.stored_bytes[number], self._starts[number])
        if chunks.compressed:
            data = decompress_zstd_chunk(data, size, f"{self.path}: chunk {number}")
        if len(data) != size:
            raise CorruptRecord(f"{self.path}: chunk {number} holds {len(data)} bytes, its manifest says {size}")
        return data


def decompress_zstd_chunk(data: bytes, max_bytes: int, chunk_name: str) -> bytes:
    """Decompresses a zstd frame. Raises: CorruptRecord if it is damaged or holds more than `max_bytes`."""
    import zstandard

    try:
        if zstandard.frame_content_size(data) > max_bytes:  # the decompressor would allocate that
            raise CorruptRecord(f"{chunk_name}: holds more than {max_bytes} bytes")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=max_bytes)
    except zstandard.ZstdError as error:
        raise CorruptRecord(f"{chunk_name}: {error}") from error
