"""A bounded table of the clients that a server has seen, for the page /clients.

A client is an address, a principal, a client id and its software, so all connections of one program are one client.
A connection that has only asked for versions, or has not logged in, is not in the table yet.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..principal import KafkaPrincipal
from .client_row import dump_row, make_row
from .seen_client import GREETINGS, UNKNOWN, SeenClient
from .verdict import Compatibility, judge_by_release

if TYPE_CHECKING:
    from ..peer import Peer

MOST_NAME = 200
"""Characters that are kept of a client id."""
MOST_LOOKS = 16
"""How many clients are compared to find one to forget."""


class ClientReport:
    """At most `most_clients` clients: a new one replaces one that has been silent for long.

    `wall_ms` converts `SeenClient.latest_s` into milliseconds since 1970. `cluster`: the brokers that a gateway
    asks, as commands take them after `-b`.
    """

    def __init__(self, most_clients: int, wall_ms: Callable[[float], int], cluster: str = "") -> None:
        self.cluster = cluster
        self.forgotten = 0
        self._most_clients = most_clients
        self._time_of_request_ms = wall_ms
        self._clients: dict[Hashable, SeenClient] = {}

    def __len__(self) -> int:
        return len(self._clients)

    def client_of(self, peer: "Peer", api_key: int) -> SeenClient:
        """The client that counts this request, of API `api_key`, and the later ones of the connection."""
        seen = peer.seen
        if api_key in GREETINGS and not seen.is_kept:
            return seen
        client = self.find(peer.host, peer.principal, peer.client_id, peer.software_name, peer.software_version)
        if not seen.is_kept:
            client.move_counts_from(seen)
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
                self._forget_a_silent_client()
            client = self._clients[identity] = SeenClient(*identity)
            client.is_kept = True
        return client

    def __iter__(self) -> Iterator[SeenClient]:
        """Those that are there now."""
        return iter(tuple(self._clients.values()))

    def list_clients_with_refusals(self) -> Iterator[tuple[SeenClient, int]]:
        """The clients with refused fetches, and the time of the latest request of each in ms since 1970."""
        return ((client, self._time_of_request_ms(client.latest_s)) for client in self if client.refused_fetches)

    def document(self) -> dict[str, Any]:
        """The report for JSON. Takes 50 µs a client: if there are many, use `make_document_maker` and a worker."""
        return self.make_document_maker()()

    def make_document_maker(self) -> Callable[[], dict[str, Any]]:
        """Copies the counts now; returns a function that makes the document of them, in any thread."""
        return partial(make_document, self.copy_clients(), self.forgotten, self._most_clients, self.cluster)

    def copy_clients(self) -> list[tuple[SeenClient, int]]:
        """A copy of each client, and the time of its latest request in ms since 1970."""
        return [(client.copy(), self._time_of_request_ms(client.latest_s)) for client in self._clients.values()]

    def make_rows_maker(self, start: int, count: int, part: str = "") -> tuple[int, Callable[[], list[dict[str, Any]]]]:
        """Counts the clients with `part` in their client id or address, and copies `count` of them after the first
        `start`, latest first; returns that number and a function that makes their rows."""
        found = (each for each in self._clients.values() if part in each.client_id or part in each.address)
        clients = sorted(found, key=lambda client: client.latest_s, reverse=True)
        seen = [(client.copy(), self._time_of_request_ms(client.latest_s)) for client in clients[start : start + count]]
        return len(clients), lambda: [dump_row(make_row(client, latest_ms)) for client, latest_ms in seen]

    def make_refused_clients_counter(self) -> Callable[[], int]:
        """Copies what the clients have asked for; returns a function that counts those that no release of Kafka 4 would
        answer, in any thread; without stepdown's own, which send what their options say."""
        asked = [
            (tuple(each.requests), each.software) for each in self._clients.values() if not each.software.is_stepdown
        ]
        return lambda: sum(
            all(verdict.works is Compatibility.NO for verdict in judge_by_release(requests, software))
            for requests, software in asked
        )

    def _forget_a_silent_client(self) -> None:
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


def make_document(
    clients: Iterable[tuple[SeenClient, int]], forgotten: int, most_clients: int, cluster: str
) -> dict[str, Any]:
    """The document of /clients: the clients, ordered by their latest request, the latest first."""
    rows = [make_row(client, latest_ms) for client, latest_ms in clients]
    rows.sort(key=lambda row: row.latest_ms, reverse=True)
    return {
        "clients": [dump_row(row) for row in rows],
        "forgotten": forgotten,
        "most_clients": most_clients,
        "cluster": cluster,
    }
