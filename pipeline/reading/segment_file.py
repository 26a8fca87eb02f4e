"""One segment's file, as it lies in a log directory."""

from dataclasses import dataclass

from ...storage.files.file_names import LOG


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFile:
    """One segment. `next_base` is the base offset of the one after it, None for the newest.

    `size_bytes` is how much of the file may hold batches: preallocated zeros behind them are not counted.
    """

    path: str
    base_offset: int
    next_base: int | None
    size_bytes: int

    @property
    def is_newest(self) -> bool:
        return self.next_base is None

    def beside(self, suffix: str) -> str:
        """The path of the segment's file with another suffix."""
        return self.path.removesuffix(LOG) + suffix
