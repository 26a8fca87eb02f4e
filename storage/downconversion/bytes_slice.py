"""Batches in memory, as an answer of another broker has them: converted as those of a file are."""

from dataclasses import dataclass
from typing import ClassVar

from ..files.file_slice import FileSlice


@dataclass(frozen=True, slots=True)
class BytesSlice:
    """The bytes of `data`, which stay as they are for as long as this lives."""

    is_in_file: ClassVar[bool] = False
    position: ClassVar[int] = 0

    data: memoryview

    @property
    def size_bytes(self) -> int:
        return len(self.data)


Source = FileSlice | BytesSlice
"""Where stored batches are read from."""
