"""Do old readers hurt the rest? Producers and modern readers keep asking, at a pace, while others convert all they can.

| who | what | pace |
|---|---|---|
| 2 producers | a batch of 16 kB, acks=1, one in flight | 100 a second each |
| 2 modern readers | Fetch v4 of one partition, 64 kB | 100 a second each |
| N old readers | Fetch v2 of 12 partitions, 1 MB each | as fast as they are served |

The figures are the latencies of the first two, from sending to the last byte, and what the old readers got.
"""

from collections.abc import Sequence
from pathlib import Path

from ..alternating_runs import MEGABYTE, AlternatingRun, ShowProgress, Terms, quantile, start_contenders
from ..failures import BenchFailure
from ..load.filled_topics import create_topic, fill
from ..load.load_plan import Asking, ConnectionRequests, LoadPlan
from ..load.process import LoadProcess
from ..load.produce_and_fetch_requests import Filling, ProduceRequests, check_fetch, fetch_request
from ..load.result import LoadResult
from ..results.results import Journal, Result
from ..servers.admin_connection import frame_of
from ..servers.contenders import Contender
from ..servers.maven import MavenStore

OLD_VERSION, MODERN_VERSION = 2, 4
PACE_S = 0.01
PARTITIONS = 12
STORED = Filling(partitions=PARTITIONS, partition_bytes=2 << 20, record_bytes=1000)
WRITTEN = Filling(partitions=PARTITIONS, partition_bytes=16_000, record_bytes=1000)
WRITING = ProduceRequests(connections=2, in_flight=1, pace_s=PACE_S)
MODERN_READERS = 2
OLD_FETCH_BYTES, MODERN_FETCH_BYTES = 1 << 20, 64_000
MOST_BYTES = 250 << 20
SETTINGS = {"fetch.max.bytes": str(MOST_BYTES)}
READ, WRITE = "read", "write"


def run_old_and_new(
    old_readers: Sequence[int],
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Medians and ratios for each number of old readers."""
    found: list[Result] = []
    with (
        LoadProcess() as producers,
        LoadProcess() as readers,
        LoadProcess() as converting,
        start_contenders(folder, maven, terms, SETTINGS, heap) as servers,
    ):
        loads = (producers, readers, converting)
        for server in servers:
            fill(server.address, READ, STORED, converting)
            create_topic(server.address, WRITE, PARTITIONS)
        for number in old_readers:
            contest = AlternatingRun("mixed", {"old_readers": number}, terms, journal, show_progress)

            def measure(
                server: Contender, seconds: float, number: int = number, contest: AlternatingRun = contest
            ) -> dict[str, float]:
                return _measure(contest, server, number, seconds, loads)

            found += contest.play(servers, measure)
    return found


def _measure(
    contest: AlternatingRun, server: Contender, old_readers: int, seconds: float, loads: Sequence[LoadProcess]
) -> dict[str, float]:
    modern = fetch_request({READ: 1}, partition_bytes=MODERN_FETCH_BYTES, most_bytes=MODERN_FETCH_BYTES)
    old = fetch_request({READ: PARTITIONS}, partition_bytes=OLD_FETCH_BYTES, most_bytes=MOST_BYTES)
    check_fetch(server.address, modern, MODERN_VERSION)
    check_fetch(server.address, old, OLD_VERSION)
    modern_reader = ConnectionRequests(requests=(frame_of(modern, MODERN_VERSION),), pace_s=PACE_S)
    old_reader = ConnectionRequests(requests=(frame_of(old, OLD_VERSION),))
    plans = [
        WRITING.plan(server.address, WRITE, WRITTEN, seconds),
        LoadPlan(
            address=server.address,
            connections=(modern_reader,) * MODERN_READERS,
            asking=Asking(kind="fetch", client=f"fetch-v{MODERN_VERSION}", partitions=1),
            seconds=seconds,
        ),
        LoadPlan(
            address=server.address,
            connections=(old_reader,) * old_readers,
            asking=Asking(kind="fetch", client=f"fetch-v{OLD_VERSION}", partitions=PARTITIONS),
            seconds=seconds,
        ),
    ]
    measured = contest.measure(server, plans, loads)
    written, read, converted = measured.results
    if written.errors:
        raise BenchFailure(f"{written.errors} produce requests were refused")
    return {
        **_latencies("produce", written),
        **_latencies("fetch", read),
        "converted_mb_per_s": converted.received_bytes / MEGABYTE / converted.seconds if old_readers else 0.0,
        **measured.cpu_shares_and_loop_delay(seconds),
    }


def _latencies(who: str, result: LoadResult) -> dict[str, float]:
    ordered = sorted(result.latencies_s)
    return {
        f"{who}_p50_ms": 1000 * quantile(ordered, 0.50),
        f"{who}_p99_ms": 1000 * quantile(ordered, 0.99),
        f"{who}s_per_s": result.responses / result.seconds,
    }
