"""Connections without a request yet or in their login, and which of them to close when there are too many."""

from ..connection import Connection


class Strangers:
    """Such connections by network, ordered by their last progress. One that has since sent a request stays listed until
    `remove_surplus` finds it.
    """

    def __init__(self) -> None:
        self._of: dict[str, dict[Connection, int]] = {}  # to its last progress in ms, as last checked
        self._network_of: dict[Connection, str] = {}  # as it was when added: a PROXY header may change it later
        self._count = 0

    def add(self, connection: Connection) -> None:
        network = self._network_of[connection] = connection.peer.network
        self._of.setdefault(network, {})[connection] = _last_progress_ms(connection)
        self._count += 1

    def discard(self, connection: Connection) -> None:
        network = self._network_of.pop(connection, "")
        own = self._of.get(network, {})
        if connection in own:
            del own[connection]
            self._count -= 1
            if not own:
                del self._of[network]

    def remove_surplus(self, most: int) -> list[Connection]:
        """Takes out connections to close until `most` are left.

        Each is the oldest connection without progress since the previous call, of the network with the most
        connections.
        """
        surplus = []
        for _ in range(self._count):
            if self._count <= most:
                break
            largest = max(self._of.values(), key=len)
            first, seen_ms = next(iter(largest.items()))
            self.discard(first)
            if not first.is_restricted and first.asked_ms is not None:
                continue
            if _last_progress_ms(first) > seen_ms:
                self.add(first)
            else:
                surplus.append(first)
        return surplus


def _last_progress_ms(connection: Connection) -> int:
    """When its last request came or its handshake ended, whichever is later; before that, its last activity."""
    return connection.last_active_ms if connection.asked_ms is None else connection.asked_ms
