"""Servers side by side, measured in turn: A B A B …, so that what else the machine does falls on both alike.

A measurement is what a load got in a window and the CPU that the server's process used in it:

| value | unit |
|---|---|
| mb_per_s | 10^6 bytes a second, as they cross the socket |
| mb_per_cpu_s | the same bytes per second of the server's CPU |
| requests_per_s | |
| p50_ms, p99_ms | from sending a request to the last byte of its answer |
| server_cpu, load_cpu | CPU seconds per second: the load side may not be at its limit when the server is not |
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .failures import BenchFailed
from .load import LoadPlan, LoadProcess, LoadResult, latencies_of
from .maven import JarStore
from .results import Journal, Result, Value
from .servers import RunningBroker, Server, Stepdown, make_peer

MEGABYTE = 1e6
Told = Callable[[str], None]
"""Hears what is being done, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a contest runs. A JVM has compiled what it runs after some seconds; Python is as it is.

    `broker` and `metrics`, addresses, name a stepdown that runs already; "": one is started.
    """

    peer: str = "none"
    broker: str = ""
    metrics: str = ""
    rounds: int = 5
    seconds: float = 2.0
    warm_up_s: float = 1.0
    jvm_warm_up_s: float = 10.0

    def warm_up_of(self, server: Server) -> float:
        return self.jvm_warm_up_s if server.name == "kafka" else self.warm_up_s


@contextmanager
def contestants(
    folder: Path, store: JarStore, terms: Terms, properties: Mapping[str, str], heap: str = "1g"
) -> Iterator[list[Server]]:
    """stepdown and its peer, running with the same settings; stopped at the end, whatever happens."""
    ours: Server = RunningBroker(terms.broker, terms.metrics)
    if not terms.broker:
        (folder / "stepdown").mkdir(parents=True, exist_ok=True)
        ours = Stepdown(folder / "stepdown", properties=properties)
    theirs = make_peer(terms.peer, folder / "peer", store, properties, heap)
    servers: list[Server] = [ours] if theirs is None else [ours, theirs]
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            with suppress(BenchFailed):
                server.kill()


def measure(server: Server, plans: Sequence[LoadPlan], loads: Sequence[LoadProcess]) -> tuple[float, list[LoadResult]]:
    """CPU seconds of the server, and what each plan got, while all plans ran side by side."""
    running = list(zip(loads, plans, strict=True))
    for load, plan in running:
        load.prepare(plan)
    before = server.usage.cpu_seconds()
    for load, _ in running:
        load.go()
    results = [load.result() for load, _ in running]
    return server.usage.cpu_seconds() - before, results


def values_of(cpu: float, results: Sequence[LoadResult], *, of_sent: bool = False) -> dict[str, float]:
    """The values of one measurement; the bytes are those received, or those sent."""
    moved = sum(result.sent_bytes if of_sent else result.received_bytes for result in results) / MEGABYTE
    seconds = max(result.seconds for result in results)
    latencies = sorted(latencies_of(results))
    return {
        "mb_per_s": moved / seconds,
        "mb_per_cpu_s": moved / max(cpu, 0.01),
        "requests_per_s": len(latencies) / seconds,
        "p50_ms": 1000 * quantile(latencies, 0.50),
        "p99_ms": 1000 * quantile(latencies, 0.99),
        "server_cpu": cpu / seconds,
        "load_cpu": sum(result.cpu_seconds for result in results) / seconds,
        "seconds": seconds,
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` of an ordered sequence stays within; 0 of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Contest:
    """One case, played in turns; each turn is noted in the journal."""

    def __init__(self, bench: str, case: Mapping[str, Value], terms: Terms, journal: Journal, tell: Told) -> None:
        self.bench = bench
        self.case = case
        self.terms = terms
        self.journal = journal
        self.tell = tell

    def play(self, servers: Sequence[Server], turn: Callable[[Server, float], dict[str, float]]) -> list[Result]:
        """The medians and ratios, after a warm-up and `rounds` turns of each server. `turn` takes seconds."""
        for server in servers:
            self.tell(f"{self._title}: warming up {server.name}")
            turn(server, self.terms.warm_up_of(server))
        for number in range(1, self.terms.rounds + 1):
            for server in servers:
                self.tell(f"{self._title}: round {number} of {self.terms.rounds}, {server.name}")
                self.note(server, number, turn(server, self.terms.seconds))
        return self.journal.conclude(self.bench, self.case)

    def note(self, server: Server, number: int, values: Mapping[str, float]) -> None:
        self.journal.note(
            Result(
                kind="round",
                bench=self.bench,
                case=self.case,
                server=server.name,
                version=server.version,
                round=number,
                values=values,
            )
        )

    @property
    def _title(self) -> str:
        return f"{self.bench} {' '.join(f'{key}={value}' for key, value in self.case.items())}"
