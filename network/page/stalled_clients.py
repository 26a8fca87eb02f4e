"""The problem of clients that get an error in place of records, and do not go on."""

from ...protocol.plural import describe_duration
from ..clients.client_report import ClientReport
from ..clients.losses import ZSTD, advise
from .problem import Problem

STALLED = "partitions of which a client cannot read the next record (zstd), and asks for it again and again"


def find_clients_stuck_on_zstd(report: ClientReport, now_ms: int) -> Problem:
    """`now_ms`: milliseconds since 1970."""
    found, topics = [], dict[str, None]()
    for client, latest_ms in report.list_clients_with_refusals():
        now_s = client.latest_s + (now_ms - latest_ms) / 1000
        for (topic, partition), fetch in client.refused_fetches.list_repeats(now_s):
            since = describe_duration(max(1, round(now_s - fetch.first_s)) * 1000)
            name = client.client_id or client.address
            found.append(f"{name} ({client.software}): {topic}-{partition} at offset {fetch.offset}, for {since}")
            topics[topic] = None
    return Problem(STALLED, advise(ZSTD, tuple(topics), report.cluster), "clients").add_all(found)
