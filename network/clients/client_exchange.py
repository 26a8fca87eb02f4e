"""Sends the clients of a report to another process, and joins the reports of several processes.

{"forgotten": 0, "clients": [{"identity": [address, principal type, name, client id, software, version],
                              "latest_ms": 0, "requests": [[key, version, count]…], "lost": [[what, count]…],
                              "loss_details": [[what, latest ms, [topic…]]…],
                              "refused_fetches": [[topic, partition, offset, first ms, latest ms, is repeated]…], …}]}
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from ..principal import KafkaPrincipal
from .client_report import ClientReport
from .losses import LatestLosses
from .refused_fetches import RefusedFetch
from .seen_client import COUNTS, SeenClient

Document = dict[str, Any]


def prepare_clients_dump(report: ClientReport) -> Callable[[], Document]:
    """Copies the counts; returns a function that makes the document of them, in any thread."""
    seen, forgotten = report.copy_clients(), report.forgotten
    return lambda: {
        "forgotten": forgotten,
        "clients": [_dump_client(client, latest_ms) for client, latest_ms in seen],
    }


def join_reports(documents: Iterable[Mapping[str, Any]], most_clients: int, cluster: str = "") -> ClientReport:
    """Makes one report of the documents of several processes; keeps the latest clients."""
    report = ClientReport(most_clients, lambda latest_s: round(latest_s * 1000), cluster)
    dumped = []
    for document in documents:
        report.forgotten += document["forgotten"]
        dumped += document["clients"]
    by_identity: dict[tuple[str, ...], list[Document]] = {}
    for each in sorted(dumped, key=lambda client: -client["latest_ms"]):
        by_identity.setdefault(tuple(each["identity"]), []).append(each)
    for identity, parts in islice(by_identity.items(), most_clients):
        address, principal_type, name, *rest = identity
        client = report.find(address, KafkaPrincipal(principal_type, name), *rest)
        for part in parts:
            client.move_counts_from(_load_client(part))
    report.forgotten += max(0, len(by_identity) - most_clients)
    return report


def _dump_client(client: SeenClient, latest_ms: int) -> Document:
    principal = client.principal

    def as_ms(at_s: float) -> int:
        return latest_ms - round((client.latest_s - at_s) * 1000)

    identity = [client.address, principal.type, principal.name, client.client_id]
    counts = {name: _dump_counts(getattr(client, name)) for name in COUNTS}
    return {
        "identity": [*identity, client.software_name, client.software_version],
        "latest_ms": latest_ms,
        "loss_details": [
            [what, as_ms(details.latest_s), details.topics] for what, details in client.loss_details.items()
        ],
        "refused_fetches": [
            [*partition, fetch.offset, as_ms(fetch.first_s), as_ms(fetch.latest_s), fetch.is_repeated]
            for partition, fetch in client.refused_fetches.items()
        ],
        **counts,
    }


def _dump_counts(counts: Mapping[Any, int]) -> list[list[Any]]:
    return [[*key, count] if isinstance(key, tuple) else [key, count] for key, count in counts.items()]


def _load_client(dumped: Mapping[str, Any]) -> SeenClient:
    client = SeenClient()
    client.latest_s = dumped["latest_ms"] / 1000
    for what, loss_ms, topics in dumped["loss_details"]:
        client.loss_details[what] = LatestLosses(loss_ms / 1000, tuple(topics))
    for topic, partition, offset, first_ms, fetch_ms, is_repeated in dumped["refused_fetches"]:
        fetch = RefusedFetch(offset, first_ms / 1000, fetch_ms / 1000, is_repeated)
        client.refused_fetches[topic, partition] = fetch
    for name in COUNTS:
        counts = getattr(client, name)
        for *key, count in dumped[name]:
            counts[tuple(key) if name != "lost" else key[0]] = count
    return client
