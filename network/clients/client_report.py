"""A bounded table of the clients that a server has seen, for the page /clients.

A client is an address, a principal, a client id and its software: all connections of one program are one client.
A connection that has only asked for versions, or not logged in, is no client yet: strangers get no place in the table.
"""

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..principal import KafkaPrincipal
from .client_row import dump_row, make_row
from .seen_client import GREETINGS, UNKNOWN, SeenClient
from .verdict import Works, judge_by_release

if TYPE_CHECKING:
    from ..peer import Peer

MOST_NAME = 200
"""Characters that are kept of a client id."""
MOST_LOOKS = 16
"""How many clients are compared to find one that has been silent for long."""


class ClientReport:
    """The clients, at most `most_clients`: another one takes the place of one that was silent for long.

    `wall_ms` turns a time of `SeenClient.latest_s` into the time of day, in milliseconds.
    """

    def __init__(self, most_clients: int, wall_ms: Callable[[float], int]) -> None:
        self.forgotten = 0
        self._most_clients = most_clients
        self._time_of_request_ms = wall_ms
        self._clients: dict[Hashable, SeenClient] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def client_of(self, peer: "Peer", api_key: int) -> SeenClient:
        """Where a connection's requests are counted, this one of API `api_key` and those that follow."""
        seen = peer.seen
        if api_key in GREETINGS and not seen.is_kept:
            return seen
        client = self.find(peer.host, peer.principal, peer.client_id, peer.software_name, peer.software_version)
        if not seen.is_kept:
            client.take_over(seen)
        peer.seen = client
        return client

    def find(
        self,
        address: str,
        principal: KafkaPrincipal,
        client_id: str,
        software_name: str = UNKNOWN,
        software_version: str = UNKNOWN,
    ) -> SeenClient:
        """The client with this identity, made if it is not there."""
        identity = address, principal, client_id[:MOST_NAME], software_name[:MOST_NAME], software_version[:MOST_NAME]
        client = self._clients.get(identity)
        if client is None:
            if len(self._clients) >= self._most_clients:
                self._forget_one()
            client = self._clients[identity] = SeenClient(*identity)
            client.is_kept = True
        return client

    def document(self) -> dict[str, Any]:
        """All that is known, for JSON. Takes 50 µs a client: `document_maker` and a worker where there are many."""
        return self.document_maker()()

    def document_maker(self) -> Callable[[], dict[str, Any]]:
        """Copies the counts now; returns a function that makes the document of them, in any thread."""
        return partial(make_document, self.copy_clients(), self.forgotten, self._most_clients)

    def copy_clients(self) -> list[tuple[SeenClient, int]]:
        """What was counted of each client up to now, and the time of day of its latest request."""
        return [(client.copy(), self._time_of_request_ms(client.latest_s)) for client in self._clients.values()]

    def rows_maker(self, start: int, count: int) -> Callable[[], list[dict[str, Any]]]:
        """Copies the counts of `count` clients after the first `start`, the latest first; returns what makes rows."""
        clients = sorted(self._clients.values(), key=lambda client: client.latest_s, reverse=True)
        seen = [(client.copy(), self._time_of_request_ms(client.latest_s)) for client in clients[start : start + count]]
        return lambda: [dump_row(make_row(client, latest_ms)) for client, latest_ms in seen]

    def refusals_counter(self) -> Callable[[], int]:
        """Copies what the clients ask for now; returns what counts those that no release of Kafka 4 would answer, in
        any thread."""
        asked = [(tuple(client.requests), client.software) for client in self._clients.values()]
        return lambda: sum(
            all(verdict.works is Works.NO for verdict in judge_by_release(requests, software))
            for requests, software in asked
        )

    def _forget_one(self) -> None:
        """Drops the client that has been silent longest, of the 16 checked longest ago; moves the others to the end."""
        clients = self._clients
        looked_at = list(islice(clients.items(), MOST_LOOKS))
        silent, client = min(looked_at, key=lambda item: item[1].latest_s)
        for identity, other in looked_at:
            del clients[identity]
            if identity != silent:
                clients[identity] = other
        client.is_kept = False
        self.forgotten += 1


def make_document(clients: Iterable[tuple[SeenClient, int]], forgotten: int, most_clients: int) -> dict[str, Any]:
    """What /clients shows: clients with the time of their latest request, the latest first."""
    rows = [make_row(client, latest_ms) for client, latest_ms in clients]
    rows.sort(key=lambda row: row.latest_ms, reverse=True)
    return {"clients": [dump_row(row) for row in rows], "forgotten": forgotten, "most_clients": most_clients}
