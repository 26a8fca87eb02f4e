"""ZooKeeper's encoding (Jute): big-endian numbers; strings and buffers with an int32 length, -1 for none.

Source: ZooKeeper 3.8 `BinaryInputArchive`.
"""

from struct import Struct
from zlib import adler32

from ..files.file_handle import ReadableFile

READ_BYTES = 1 << 20
MOST_VALUE_BYTES = 1 << 28
"""ZooKeeper accepts no value larger than its jute.maxbuffer, usually 1 MB."""

_INT = Struct(">i")
_LONG = Struct(">q")


class MalformedJute(ValueError):
    """The bytes end too early, or have an impossible length."""


class JuteReader:
    """Reads one value after the other; `position`: the position of the next value."""

    def __init__(self, data: bytes | memoryview, position: int = 0) -> None:
        self.data = memoryview(data)
        self.position = position

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self.data) - self.position

    def take(self, size: int) -> memoryview:
        """Raises: MalformedJute."""
        if not 0 <= size <= self.left:
            raise MalformedJute(f"{size} bytes expected at position {self.position}, {self.left} are left")
        start = self.position
        self.position += size
        return self.data[start : self.position]

    def read_int(self) -> int:
        return int(_INT.unpack(self.take(_INT.size))[0])

    def read_long(self) -> int:
        return int(_LONG.unpack(self.take(_LONG.size))[0])

    def read_bool(self) -> bool:
        return self.take(1)[0] != 0

    def read_buffer(self) -> bytes:
        """Reads a buffer; a missing one (-1) as b""."""
        size = self.read_int()
        return b"" if size == -1 else bytes(self.take(size))

    def read_string(self) -> str:
        """Reads a string. Raises: MalformedJute, also for bytes that are not UTF-8."""
        try:
            return self.read_buffer().decode()
        except UnicodeDecodeError as fault:
            raise MalformedJute(f"no text at position {self.position}: {fault}") from fault

    def read_count(self, item_bytes: int) -> int:
        """Reads the number of items that follow, each of at least `item_bytes`; -1 is read as 0."""
        count = self.read_int()
        if count == -1:
            return 0
        if not 0 <= count * item_bytes <= self.left:
            raise MalformedJute(f"{count} items at position {self.position} do not fit into {self.left} bytes")
        return count


class JuteFile(JuteReader):
    """Reads values from a file; it holds only the value that is read, or READ_BYTES.

    `checksum`: the Adler-32 of all bytes read so far.
    """

    def __init__(self, file: ReadableFile, size_bytes: int) -> None:
        super().__init__(b"")
        self.checksum = 1
        self._file = file
        self._size_bytes = size_bytes
        self._at = 0  # of the next value in `data`

    @property
    def left(self) -> int:
        return self._size_bytes - self.position

    def take(self, size: int) -> memoryview:
        """Raises: MalformedJute; DiskFault."""
        if not 0 <= size <= min(self.left, MOST_VALUE_BYTES):
            raise MalformedJute(f"{size} bytes expected at position {self.position}, {self.left} are left")
        if size > len(self.data) - self._at:
            self._fill(size)
        taken = self.data[self._at : self._at + size]
        self._at += size
        self.position += size
        self.checksum = adler32(taken, self.checksum)
        return taken

    def _fill(self, size: int) -> None:
        rest = bytes(self.data[self._at :])
        wanted = max(size, READ_BYTES) - len(rest)
        self.data, self._at = memoryview(rest + self._file.read(wanted, self.position + len(rest))), 0
        if len(self.data) < size:
            raise MalformedJute(f"the file ends at position {self.position + len(self.data)}, it has become shorter")
