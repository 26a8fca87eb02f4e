"""The `.index` and `.timeindex` of a segment, read for planning only: a wrong one costs time, but no rows are lost.

Layouts: `storage/index/offset_index.py`, `storage/index/time_index.py`. A file that was not closed ends in zeros that
were allocated ahead, so entries are taken only as long as they increase.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...protocol.errors import DiskFault
from ...storage.files.file_names import OFFSET_INDEX, TIME_INDEX
from ..places.place_files import PlaceFiles
from .segment_location import SegmentFile

_OFFSET_ENTRY = np.dtype([("key", ">i4"), ("value", ">i4")])
_TIME_ENTRY = np.dtype([("key", ">i8"), ("value", ">i4")])

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetIndexEntries:
    """Last offset of a set, and the position where the set starts; both increase."""

    offsets: Numbers
    positions: Numbers

    def __len__(self) -> int:
        return len(self.offsets)


def offset_entries(files: PlaceFiles, segment: SegmentFile) -> OffsetIndexEntries:
    """The entries of the offset index; none where there is no such file."""
    keys, values = _parse_while_increasing(_read_index(files, segment, OFFSET_INDEX), _OFFSET_ENTRY, (-1, 0))
    return OffsetIndexEntries(offsets=keys + segment.base_offset, positions=values)


def largest_timestamp(files: PlaceFiles, segment: SegmentFile) -> int | None:
    """The largest timestamp (ms) that the time index names, None where it has none."""
    # An entry of time 0 is one that was allocated ahead.
    keys, _ = _parse_while_increasing(_read_index(files, segment, TIME_INDEX), _TIME_ENTRY, (0, -1))
    return int(keys[-1]) if len(keys) else None


def offset_before_time(files: PlaceFiles, segment: SegmentFile, time_ms: int) -> int | None:
    """An offset up to which, inclusive, no record of the segment is so late; None where the index has none."""
    times, offsets = _parse_while_increasing(_read_index(files, segment, TIME_INDEX), _TIME_ENTRY, (0, -1))
    before = int(np.searchsorted(times, time_ms, "left")) - 1
    return segment.base_offset + int(offsets[before]) if before >= 0 else None


def _read_index(files: PlaceFiles, segment: SegmentFile, suffix: str) -> bytes:
    try:
        return segment.read_index(files, suffix)
    except DiskFault:
        return b""


def _parse_while_increasing(data: bytes, entry: np.dtype[Any], before: tuple[int, int]) -> tuple[Numbers, Numbers]:
    """Keys and values up to the first entry that does not increase in both."""
    found = np.frombuffer(data[: len(data) // entry.itemsize * entry.itemsize], entry)
    keys, values = found["key"].astype(np.int64), found["value"].astype(np.int64)
    grows = (np.diff(keys, prepend=before[0]) > 0) & (np.diff(values, prepend=before[1]) > 0)
    count = len(found) if grows.all() else int(np.argmin(grows))
    return keys[:count], values[:count]
