"""A piece of a response that is made while it is sent: what a sender needs to know of it."""

from typing import Protocol

from ...storage.files.file_slice import Outlet

Sent = tuple[int, memoryview, int]
"""Bytes of the chunks that were taken whole; the chunk that was not, empty if there is none, and how much of it was."""


class Chunks(Protocol):
    """One pass over a lazily converted slice."""

    @property
    def needs_worker(self) -> bool:
        """Whether making the next chunk takes a codec, and so too long for the event loop."""
        ...

    @property
    def claim_bytes(self) -> int:
        """Memory that making and holding the next chunk takes."""
        ...

    @property
    def buffer_bytes(self) -> int:
        """The part of it that the chunk itself is made in."""
        ...

    def make(self, out: bytearray) -> memoryview | None:
        """The next chunk, the same until `advance`; None when `out` is too small (`buffer_bytes` has grown then)."""
        ...

    def advance(self) -> None:
        """The chunk has been sent."""
        ...

    def send_shared(self, outlet: Outlet, most_bytes: int, turn_bytes: int) -> tuple[int, bool]:
        """Sends the next chunks as far as others had them, too, or will want them, up to one that ends behind
        `turn_bytes`, or is cut at `most_bytes`: how many bytes, and whether the rest is for later: the socket is full,
        or others are to catch up."""
        ...

    def run(self, out: bytearray, outlet: Outlet, most_bytes: int, turn_bytes: int) -> Sent:
        """Makes chunk after chunk in `out` and gives each to `outlet`, until `turn_bytes` are sent, or `most_bytes`, at
        which the last is cut; until one is not taken whole; or until the next is better made alone. Those that were
        taken whole are behind it then. Like `make` it belongs in a worker if `needs_worker`, and stays within the claim
        that it begins with."""
        ...


class Begun(Protocol):
    """What was sent by `send_at_once`: so much of the head, and in chunks that were taken whole. If that is not all,
    `chunks` are those that follow, and `unsent` is the first of them, if it was made, of which `taken_bytes` went."""

    @property
    def head_bytes(self) -> int: ...

    @property
    def done_bytes(self) -> int: ...

    @property
    def chunks(self) -> Chunks | None: ...

    @property
    def unsent(self) -> memoryview: ...

    @property
    def taken_bytes(self) -> int: ...


class LazyPiece(Protocol):
    """A piece whose size was promised before its bytes exist."""

    @property
    def size_bytes(self) -> int: ...

    def chunks(self) -> Chunks: ...

    def goes_at_once(self, outlet: Outlet) -> bool:
        """Whether it is to be sent to `outlet` by `send_at_once`."""
        ...

    def send_at_once(self, head: bytearray, outlet: Outlet, out: memoryview, turn_bytes: int) -> Begun | None:
        """In place of `chunks`: sends `head`, which goes before the piece, and what can be made of it in `out` without
        more ado, up to a chunk that is not taken whole, or that ends behind `turn_bytes`. None if nothing was sent, and
        `chunks` does it; without any, after a part of the head, too, which was all that was taken."""
        ...

    def done(self) -> None:
        """Nothing more of it will be asked for, whether all was sent or the peer has gone."""
        ...
