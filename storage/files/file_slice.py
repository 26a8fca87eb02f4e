"""A range of bytes of a segment file, as part of a response; it is read only when it is sent."""

from .file_handle import OpenFile
from .files import DISK_FAILURES


class FileSlice:
    """`size_bytes` bytes of a file from `position` on; it keeps the file open, even one that is deleted meanwhile.

    `file`: None for the empty slice. `segment_base_offset`: the base offset of its segment, -1 for the empty slice.
    """

    is_in_file = True

    __slots__ = ("file", "position", "segment_base_offset", "size_bytes")

    def __init__(self, file: OpenFile | None, position: int, size_bytes: int, segment_base_offset: int = -1) -> None:
        self.file = file
        self.position = position
        self.size_bytes = size_bytes
        self.segment_base_offset = segment_base_offset

    def __len__(self) -> int:
        return self.size_bytes

    def __repr__(self) -> str:
        return f"FileSlice(position={self.position}, size_bytes={self.size_bytes})"

    def fileno(self) -> int:
        """The descriptor to send from, valid while this slice lives.

        Raises: ValueError for an empty slice, which has none.
        """
        if self.file is None:
            raise ValueError("an empty slice has no file")
        return self.file.fd

    def report_send_failure(self, error: OSError, position: int) -> None:
        """Reports that sending from `position` of the file failed, if the disk caused it and not the peer."""
        if self.file is not None and error.errno in DISK_FAILURES:
            self.file.report_read_failure(error, self.size_bytes, position)

    def read(self, at: int, size: int) -> bytes:
        """Up to `size` bytes from `at`, counted from the start of the slice; fewer at its end.

        Raises: DiskFault when the file cannot be read.
        """
        size = min(size, self.size_bytes - at)
        if size <= 0 or self.file is None:
            return b""
        return self.file.read(size, self.position + at)

    def part(self, at: int, size: int) -> "FileSlice":
        """The `size` bytes from `at` on, as a slice of the same file."""
        size = max(0, min(size, self.size_bytes - at))
        return FileSlice(self.file, self.position + at, size, self.segment_base_offset)


EMPTY_SLICE = FileSlice(None, 0, 0)
