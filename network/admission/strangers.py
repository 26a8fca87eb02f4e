"""Connections that have sent no request yet, or do not go on with their login: who is closed when they are too many."""

from ..connection import Connection

LOGIN_STEP_MS = 1_000
"""A login whose last request is younger goes on."""


class Strangers:
    """Connections by the network they come from and by age. Those that have become clients are found and left out when
    there are too many.
    """

    def __init__(self) -> None:
        self._of: dict[str, dict[Connection, None]] = {}
        self._network_of: dict[Connection, str] = {}  # as it was, whatever a balancer says of the peer later
        self._count = 0

    def add(self, connection: Connection) -> None:
        network = self._network_of[connection] = connection.peer.network
        self._of.setdefault(network, {})[connection] = None
        self._count += 1

    def discard(self, connection: Connection) -> None:
        network = self._network_of.pop(connection, "")
        own = self._of.get(network, {})
        if connection in own:
            del own[connection]
            self._count -= 1
            if not own:
                del self._of[network]

    def take_surplus(self, most: int, now_ms: int) -> list[Connection]:
        """Who is to be closed so that `most` are left: of the network that has most, the oldest."""
        surplus = []
        for _ in range(self._count):
            if self._count <= most:
                break
            largest = max(self._of.values(), key=len)
            oldest = next(iter(largest))
            self.discard(oldest)
            if _is_idle(oldest, now_ms):
                surplus.append(oldest)
            elif oldest.is_restricted:
                self.add(oldest)
        return surplus


def _is_idle(connection: Connection, now_ms: int) -> bool:
    if connection.asked_ms is None:
        return True
    return connection.is_restricted and now_ms - connection.asked_ms >= LOGIN_STEP_MS
