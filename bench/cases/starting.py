"""How long until a broker can answer, and how much memory does it take when nobody asks anything?

Measured after a clean stop, over directories of ever more partitions, with one record each or empty: from the start of
the process until it has said that it listens (Kafka: until it answers a Metadata request, asked every 20 ms), its CPU
seconds until then, and its RSS a second later. A partition takes the
growth of RSS since the directory with the fewest, divided by the partitions added.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

from ...client.operations.topics import NewTopic, create_topics
from ..alternating_runs import AlternatingRun, ShowProgress, Terms, start_contenders
from ..load.filled_topics import await_leaders, write_records
from ..load.process import LoadProcess
from ..load.produce_and_fetch_requests import Filling
from ..results.results import Journal, Result
from ..servers.admin_connection import REQUEST_TIMEOUT_MS, change
from ..servers.contenders import Contender
from ..servers.maven import MavenStore

RECORD_BYTES = 1000
PARTITIONS_A_REQUEST = 500
SETTLE_S = 1.0
KIBIBYTE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDirectory:
    """How many partitions there are, in rising order; each topic has `topic_partitions`."""

    partitions: Sequence[int]
    topic_partitions: int = 1000
    is_empty: bool = False


def run_starts(
    directory: StartDirectory,
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Medians and ratios for each number of partitions."""
    found: list[Result] = []
    held = 0
    few: dict[str, tuple[int, float]] = {}
    with LoadProcess() as load, start_contenders(folder, maven, terms, {}, heap) as servers:
        for count in sorted(directory.partitions):
            for server in servers:
                show_progress(f"start: adding {count - held} partitions to {server.name}")
                _add_partitions(server, held, count, directory, load)
            held = count
            case = {
                "partitions": count,
                "topic_partitions": directory.topic_partitions,
                "records": 0 if directory.is_empty else count,
            }
            contest = AlternatingRun("start", case, terms, journal, show_progress)

            def measure(server: Contender, _: float, count: int = count) -> dict[str, float]:
                values = _measure_start(server)
                if server.name in few:
                    fewest, rss = few[server.name]
                    values["rss_a_partition_kib"] = (values["idle_rss_bytes"] - rss) / (count - fewest) / KIBIBYTE
                return values

            results = contest.play(servers, measure)
            if not few:
                medians = [each for each in results if each.kind == "median"]
                few.update({each.server: (count, each.values["idle_rss_bytes"]) for each in medians})
            found += results
    return found


def _add_partitions(server: Contender, held: int, wanted: int, directory: StartDirectory, load: LoadProcess) -> None:
    counts = [
        min(directory.topic_partitions, wanted - first) for first in range(held, wanted, directory.topic_partitions)
    ]
    at_once = max(1, PARTITIONS_A_REQUEST // directory.topic_partitions)
    topics = [
        NewTopic(name=f"held-{held:06d}-{number:06d}", partitions=count, replication_factor=1)
        for number, count in enumerate(counts)
    ]
    for first in range(0, len(topics), at_once):
        change(server.address, create_topics(topics[first : first + at_once], timeout_ms=REQUEST_TIMEOUT_MS))
    for topic in topics:
        name, count = topic.name, topic.partitions
        await_leaders(server.address, name, count)
        if not directory.is_empty:
            filling = Filling(partitions=count, partition_bytes=RECORD_BYTES, record_bytes=RECORD_BYTES, batch_bytes=1)
            write_records(server.address, name, filling, load)


def _measure_start(server: Contender) -> dict[str, float]:
    server.stop()
    began = perf_counter()
    server.start()
    ready, cpu = perf_counter() - began, server.usage.cpu_seconds()
    sleep(SETTLE_S)
    return {"ready_s": ready, "ready_cpu_s": cpu, "idle_rss_bytes": server.usage.rss_bytes()}
