"""ZooKeeper's encoding (Jute): big-endian numbers; strings and buffers with an int32 length, -1 for none.

Source: ZooKeeper 3.8 `BinaryInputArchive`.
"""

from struct import Struct
from zlib import adler32

from ..files.file_handle import ReadableFile

READ_BYTES = 1 << 20
MOST_VALUE_BYTES = 1 << 28
"""ZooKeeper takes no larger value than its jute.maxbuffer, 1 MB as a rule."""

_INT = Struct(">i")
_LONG = Struct(">q")


class MalformedJute(ValueError):
    """Bytes that end too early, or a length that cannot be."""


class JuteReader:
    """Reads one value after the other; `position` is that of the next one."""

    def __init__(self, data: bytes | memoryview, position: int = 0) -> None:
        self.data = memoryview(data)
        self.position = position

    @property
    def left(self) -> int:
        """How many bytes are not read yet."""
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
        """None is read as no bytes."""
        size = self.read_int()
        return b"" if size == -1 else bytes(self.take(size))

    def read_string(self) -> str:
        """Raises: MalformedJute, also for bytes that are no UTF-8."""
        try:
            return self.read_buffer().decode()
        except UnicodeDecodeError as fault:
            raise MalformedJute(f"no text at position {self.position}: {fault}") from fault

    def read_count(self, item_bytes: int) -> int:
        """The number of items that follow, each of `item_bytes` at least; -1 is read as none."""
        count = self.read_int()
        if count == -1:
            return 0
        if not 0 <= count * item_bytes <= self.left:
            raise MalformedJute(f"{count} items at position {self.position} do not fit into {self.left} bytes")
        return count


class JuteFile(JuteReader):
    """As `JuteReader`, of a file of which no more is held than the value that is read, or READ_BYTES.

    `checksum` is the Adler-32 of all that was read so far.
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
