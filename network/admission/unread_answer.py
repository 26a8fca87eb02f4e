"""Counts what a peer has not read of its answers, and closes the connection when others need that memory.

An answer that the socket takes at once is not counted. Once the socket is full, the rest is: a long answer by the claim
that it has already, all others by `SharedByConnections.unread`.
"""

from collections.abc import Callable

from ..memory_budget import Claim
from ..peer import Peer
from ..pieces import UNCOUNTED_BYTES
from ..transport import PlainTransport
from .shared_by_connections import SharedByConnections


class UnreadAnswer:
    """The unread answer of one connection; `give_up` closes the connection."""

    def __init__(
        self, wire: PlainTransport, peer: Peer, shared: SharedByConnections, give_up: Callable[[], None]
    ) -> None:
        self.give_up = give_up
        self._wire = wire
        self._peer = peer
        self._shared = shared
        self._claim: Claim | None = None
        self._ms_a_byte = 0.0
        self._seen_sent_bytes = 0

    def begin_long_answer(self, claim: Claim) -> None:
        """Begins to send a long answer that is charged to `claim`; `release` ends it."""
        self._claim = claim
        self._ms_a_byte = self._shared.rules().grace_ms_per_byte(claim.size_bytes)
        self._seen_sent_bytes = self._wire.sent_bytes
        claim.allow_reclaim(self.give_up)

    def release(self) -> None:
        """Frees the claim and the count; may be called again."""
        if self._claim is not None:
            self._claim.release()
            self._claim = None
        self._shared.unread.release(self, self._peer.network)

    def count_unread(self, size_bytes: int) -> None:
        """Counts these bytes as unread until `release`, which has to be called before the next `count_unread`."""
        if size_bytes > UNCOUNTED_BYTES:
            self._shared.unread.keep(self, self._peer.network, size_bytes, self.give_up)

    async def wait_for_room(self, kept_bytes: int) -> None:
        """Waits until the socket takes more; `kept_bytes` are counted meanwhile. Raises: ConnectionResetError.

        Each wait is a new item, so the oldest item is the one whose peer has read nothing for longest.
        """
        if self._claim is not None:
            sent_bytes = self._wire.sent_bytes
            self._claim.note_progress((sent_bytes - self._seen_sent_bytes) * self._ms_a_byte)
            self._seen_sent_bytes = sent_bytes
            kept_bytes = self._wire.unsent_bytes
        self.count_unread(kept_bytes)
        try:
            await self._wire.wait_for_room()
        finally:
            self._shared.unread.release(self, self._peer.network)
