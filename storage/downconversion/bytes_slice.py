"""Batches in memory, such as those in another broker's response, to be converted like those of a file."""

from dataclasses import dataclass
from typing import ClassVar

from ..files.file_slice import FileSlice


@dataclass(frozen=True, slots=True)
class BytesSlice:
    """The bytes of `data`, which must not change while this object lives."""

    is_in_file: ClassVar[bool] = False
    position: ClassVar[int] = 0

    data: memoryview

    @property
    def size_bytes(self) -> int:
        return len(self.data)


Source = FileSlice | BytesSlice
"""A source of stored batches."""
