"""Finds the next whole batch after bytes that are none: by its frame, then by its checksum."""

from contextlib import suppress

import numpy as np

from ...protocol.errors import CorruptRecord
from ...protocol.records.layout import (
    FRAME,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    MAX_INT32,
    MIN_SIZE,
    SIZE_OFFSET,
)
from ...storage.files.file_handle import ReadableFile
from ...storage.log.batch_scan import valid_batch_headers

WINDOW_BYTES = 1 << 20
MAX_CHECKED_BYTES = 64 << 20
"""What a search takes checksums of at most: bytes may look like many large batches."""


class BatchSearch:
    """Searches a segment file up to `end`. Batches have offsets from `base_offset` on that an index could hold."""

    def __init__(self, file: ReadableFile, *, end: int, base_offset: int) -> None:
        self._file = file
        self._end = end
        self._base_offset = base_offset
        self._left = MAX_CHECKED_BYTES

    def find_batch(self, start: int) -> int | None:
        """The position of the first whole batch from `start` on, None where none is found. Raises: DiskFault."""
        while start + HEADER_SIZE_UP_TO_MAGIC <= self._end:
            data = self._file.read(min(WINDOW_BYTES, self._end - start), start)
            if len(data) < HEADER_SIZE_UP_TO_MAGIC:
                return None
            for at in _find_likely_frames(data, self._end - start):
                if self._is_batch(start + at, *FRAME.unpack_from(data, at)):
                    return start + at
                if self._left <= 0:
                    return None
            start += len(data) - HEADER_SIZE_UP_TO_MAGIC + 1
        return None

    def begins_batch(self, position: int) -> bool:
        """Whether a whole batch with the right checksum begins at the position. Raises: DiskFault."""
        head = self._file.read(HEADER_SIZE_UP_TO_MAGIC, position)
        return len(head) == HEADER_SIZE_UP_TO_MAGIC and self._is_batch(position, *FRAME.unpack_from(head))

    def _is_batch(self, position: int, offset: int, size: int) -> bool:
        end = position + LOG_OVERHEAD + size
        if not (size >= MIN_SIZE and end <= self._end and 0 <= offset - self._base_offset <= MAX_INT32):
            return False
        self._left -= size
        with suppress(CorruptRecord):
            return next(valid_batch_headers(self._file, position, end), None) is not None
        return False


def _find_likely_frames(data: bytes, most_bytes: int) -> list[int]:
    """Where in `data` offset, size and magic could be those of a batch of `most_bytes` at most."""
    found = np.frombuffer(data, np.uint8)
    count = len(data) - HEADER_SIZE_UP_TO_MAGIC + 1
    likely = (found[:count] == 0) & (found[MAGIC_OFFSET : count + MAGIC_OFFSET] <= MAGIC_V2)
    at = np.flatnonzero(likely)
    sizes = np.zeros(len(at), np.int64)
    for byte in range(SIZE_OFFSET, LOG_OVERHEAD):
        sizes = sizes << 8 | found[at + byte]
    positions: list[int] = at[(sizes >= MIN_SIZE) & (sizes <= most_bytes)].tolist()
    return positions
