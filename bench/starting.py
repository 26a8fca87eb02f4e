"""How long until a broker can answer, and how much memory does it take when nobody asks anything?

Measured after a clean stop, over directories with 0, 1,000 and 10,000 partitions of one record each: from the start of
the process until it has said that it listens (Kafka: until it answers a Metadata request, asked every 20 ms), its CPU
seconds until then, and its RSS a second later.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep

from .contest import Contest, Terms, Told, contestants
from .load import LoadProcess
from .maven import JarStore
from .results import Journal, Result
from .servers import Server
from .topics import Filling, fill

PARTITIONS_A_TOPIC = 1000
RECORD_BYTES = 1000
SETTLE_S = 1.0


def run_starts(
    partitions: Sequence[int], folder: Path, store: JarStore, terms: Terms, heap: str, journal: Journal, tell: Told
) -> list[Result]:
    """Medians and ratios for each number of partitions; they are added, so the numbers have to grow."""
    found: list[Result] = []
    held = 0
    with LoadProcess() as load, contestants(folder, store, terms, {}, heap) as servers:
        for count in sorted(partitions):
            for server in servers:
                tell(f"start: writing {count} partitions to {server.name}")
                _add_partitions(server, held, count, load)
            held = count
            contest = Contest("start", {"partitions": count}, terms, journal, tell)
            found += contest.play(servers, lambda server, _: _start(server))
    return found


def _add_partitions(server: Server, held: int, wanted: int, load: LoadProcess) -> None:
    for first in range(held, wanted, PARTITIONS_A_TOPIC):
        count = min(PARTITIONS_A_TOPIC, wanted - first)
        filling = Filling(partitions=count, partition_bytes=RECORD_BYTES, record_bytes=RECORD_BYTES, batch_bytes=1)
        fill(server.address, f"partitions-{first}", filling, load)


def _start(server: Server) -> dict[str, float]:
    server.stop()
    began = perf_counter()
    server.start()
    ready, cpu = perf_counter() - began, server.usage.cpu_seconds()
    sleep(SETTLE_S)
    return {"ready_s": ready, "ready_cpu_s": cpu, "idle_rss_bytes": server.usage.rss_bytes()}
