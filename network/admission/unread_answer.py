"""What a connection's peer has not taken of its answers, and what ends the connection when that memory is needed.

An answer that the wire takes at once is counted nowhere. From the moment that the wire is full, what is kept for it is
counted: a long answer by its claim, which it has before, all else by `SharedByConnections.unread`.
"""

from collections.abc import Callable

from ..memory_budget import Claim
from ..peer import Peer
from ..pieces import UNCOUNTED_BYTES
from ..transport import PlainTransport
from .shared_by_connections import SharedByConnections


class UnreadAnswer:
    """Of one connection, which `give_up` ends."""

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

    def begin(self, claim: Claim) -> None:
        """A long answer, which has that claim, is sent now; `release` ends it."""
        self._claim = claim
        self._ms_a_byte = self._shared.rules().grace_ms_per_byte(claim.size_bytes)
        self._seen_sent_bytes = self._wire.sent_bytes
        claim.allow_reclaim(self.give_up)

    def release(self) -> None:
        """Nothing is kept any more; again is harmless."""
        if self._claim is not None:
            self._claim.release()
            self._claim = None
        self._shared.unread.release(self, self._peer.network)

    def keep(self, size_bytes: int) -> None:
        """Counts these bytes as unread until `release`, which has to come before the next `keep`."""
        if size_bytes > UNCOUNTED_BYTES:
            self._shared.unread.keep(self, self._peer.network, size_bytes, self.give_up)

    async def wait_for_room(self, kept_bytes: int) -> None:
        """Returns when the peer takes more; `kept_bytes` are kept for it meanwhile. Raises: ConnectionResetError.

        Each wait is counted of its own, so of those who wait the oldest has taken nothing for longest.
        """
        if self._claim is not None:
            sent_bytes = self._wire.sent_bytes
            self._claim.progress((sent_bytes - self._seen_sent_bytes) * self._ms_a_byte)
            self._seen_sent_bytes = sent_bytes
            kept_bytes = self._wire.unsent_bytes
        self.keep(kept_bytes)
        try:
            await self._wire.wait_for_room()
        finally:
            self._shared.unread.release(self, self._peer.network)
