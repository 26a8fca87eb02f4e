"""What the sender asks of the pieces of a response whose bytes are made when they are sent.

Their sizes are known before: that of a response is in front of it. `is_in_file` tells a range of a file, which
`sendfile` takes, from a `ConvertedPiece`, whose bytes are put into a buffer first.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from ..protocol.primitives import BUFFER_TYPES
from ..protocol.schema import Piece

PIECE_BYTES: Final = 100
"""What a piece takes in memory beside its bytes: an object, and its place in a list."""
UNCOUNTED_BYTES: Final = 1024
"""Of an answer that is not taken. A connection takes five times as much."""


class FilePiece(Protocol):
    """`size_bytes` bytes of a file from the byte `position` on."""

    is_in_file: ClassVar[bool]

    @property
    def size_bytes(self) -> int: ...

    @property
    def position(self) -> int: ...

    def fileno(self) -> int:
        """The descriptor to read from."""
        ...

    def report_send_failure(self, error: OSError, position: int) -> None:
        """Sending from `position` of the file failed, because of the peer or of the disk."""
        ...


class PieceStream(Protocol):
    """The bytes of a piece that are made when they are sent (`converted_piece.py`), from the first to the last."""

    @property
    def is_size_known(self) -> bool:
        """Whether `size_bytes` is known; the first `fill` sees to it."""
        ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def needs_worker(self) -> bool:
        """Whether the next `fill` would hold the event loop for too long."""
        ...

    @property
    def claim_bytes(self) -> int:
        """Memory that the next `fill` takes, its buffer included."""
        ...

    @property
    def buffer_bytes(self) -> int:
        """How large its buffer has to be; 0: the promise has no use for one."""
        ...

    def fill(self, buffer: bytearray | None) -> int:
        """How many bytes were put into `buffer`; 0: not all has been looked at, it is to be called again.

        Without a buffer only the size is learned.
        """
        ...

    def step_back(self) -> None:
        """Has the next `fill` give the same bytes as the last one."""

    def close(self) -> None:
        """Nothing more will be asked for."""


def bytes_in_memory(pieces: Sequence[Piece]) -> int:
    """What a response takes in memory until it is sent. Who converts while sending has memory of its own for that."""
    kept = PIECE_BYTES * len(pieces)
    for piece in pieces:
        if type(piece) in BUFFER_TYPES:
            kept += len(piece)  # type: ignore[arg-type]
    return kept
