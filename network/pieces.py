"""The pieces of a response whose bytes are read or converted when they are sent.

The size of each is learned before the first is sent, since a response begins with its size. `is_in_file`: a range of a
file, for `sendfile`; otherwise a `ConvertedPiece`, whose bytes are put into a buffer first.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from ..protocol.primitives import BUFFER_TYPES
from ..protocol.schema import Piece

PIECE_BYTES: Final = 100
"""The memory of a piece beside its bytes: an object and its place in a list."""
UNCOUNTED_BYTES: Final = 1024
"""An unread answer up to this size is not counted: its connection takes five times as much."""


class FilePiece(Protocol):
    """`size_bytes` bytes of a file, from byte `position` on."""

    is_in_file: ClassVar[bool]

    @property
    def size_bytes(self) -> int: ...

    @property
    def position(self) -> int: ...

    def fileno(self) -> int:
        """The descriptor to read from."""
        ...

    def report_send_failure(self, error: OSError, position: int) -> None:
        """Takes note that sending from `position` of the file failed, because of the peer or the disk."""
        ...


class PieceStream(Protocol):
    """Makes the bytes of a `ConvertedPiece`, in order."""

    @property
    def is_size_known(self) -> bool:
        """Whether `size_bytes` is known; the first `fill` that is done learns it."""
        ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def needs_worker(self) -> bool:
        """Whether the next `fill` would hold the event loop for too long."""
        ...

    @property
    def bytes_to_claim(self) -> int:
        """The memory that the next `fill` needs, its buffer included."""
        ...

    @property
    def buffer_bytes(self) -> int:
        """How large the buffer has to be; 0: the size can be learned without one."""
        ...

    def fill(self, buffer: bytearray | None) -> int:
        """Fills `buffer`; returns how many bytes it has. 0: call it again. Without a buffer it only learns the size."""
        ...

    def step_back(self) -> None:
        """Makes the next `fill` give the same bytes as the last one."""

    def close(self) -> None:
        """Frees the stream; nothing more is read from it."""


def bytes_in_memory(pieces: Sequence[Piece]) -> int:
    """The memory of a response until it is sent, without the buffers of converted pieces."""
    kept = PIECE_BYTES * len(pieces)
    for piece in pieces:
        if type(piece) in BUFFER_TYPES:
            kept += len(piece)  # type: ignore[arg-type]
    return kept
