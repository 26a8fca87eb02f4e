"""Compares servers by running the same load on each in turn (A B A B …), so that other activity on the machine affects
all alike.

A measurement is what a load got in a window and the CPU that the server's process used in it:

| value | unit |
|---|---|
| mb_per_s | 10^6 bytes a second, as they cross the socket |
| mb_per_cpu_s | the same bytes per second of the server's CPU |
| requests_per_s | |
| p50_ms, p99_ms | from sending a request to the last byte of its answer |
| loop_p99_ms | how late the server's event loop was, by its own histogram; stepdown only |
| server_cpu, load_cpu | CPU seconds per second: the load side may not be at its limit when the server is not |
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from .failures import BenchFailure
from .load.load_plan import LoadPlan
from .load.process import LoadProcess
from .load.result import LoadResult, latencies_of
from .results.results import Event, Journal, Result, Value, config_of, time_of
from .servers.contenders import Contender, make_peer
from .servers.maven import MavenStore
from .servers.scrape import loop_delay_of
from .servers.stepdown import ExternalBroker, Stepdown
from .servers.virtual_network import open_network

MEGABYTE = 1e6
SHORTEST_CPU_S = 0.01
"""A tick of the kernel's CPU clock; a shorter CPU time cannot be told from zero."""
ShowProgress = Callable[[str], None]
"""Is called with what is being done, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a contest runs. A JVM needs a longer warm-up than Python, so that its code is compiled.

    `broker` and `metrics`: addresses of a running stepdown; "" starts one. `certificates`: a folder of them, for loads
    over TLS. Samples that follow each other sooner than `samples_every_s` are taken, but not noted.
    """

    peer: str = "none"
    network: str = "loopback"
    certificates: str = ""
    broker: str = ""
    metrics: str = ""
    rounds: int = 5
    seconds: float = 2.0
    warm_up_s: float = 1.0
    jvm_warm_up_s: float = 10.0
    samples_every_s: float = 0.0

    def warm_up_of(self, server: Contender) -> float:
        return self.jvm_warm_up_s if server.name == "kafka" else self.warm_up_s


@contextmanager
def start_contenders(
    folder: Path, maven: MavenStore, terms: Terms, properties: Mapping[str, str], heap: str = "1g"
) -> Iterator[list[Contender]]:
    """stepdown and its peer, running with the same settings; stopped at the end, whatever happens."""
    with open_network(terms.network) as network:
        ours: Contender = ExternalBroker(terms.broker, terms.metrics)
        if not terms.broker:
            (folder / "stepdown").mkdir(parents=True, exist_ok=True)
            ours = Stepdown(
                folder / "stepdown", properties=properties, network=network, certificates=terms.certificates
            )
        theirs = make_peer(terms.peer, folder / "peer", maven, properties, heap, network, terms.certificates)
        servers: list[Contender] = [ours] if theirs is None else [ours, theirs]
        try:
            for server in servers:
                server.start()
            yield servers
        finally:
            for server in servers:
                with suppress(BenchFailure):
                    server.kill()


def through_tls(server: Contender, plan: LoadPlan) -> LoadPlan:
    """The plan through the server's listener with TLS, where it has one."""
    return plan if server.tls is None else replace(plan, address=server.tls.address, authority=server.tls.authority)


def case_with_security(case: Mapping[str, Value], terms: Terms) -> Mapping[str, Value]:
    """The case with its security protocol, where that is not PLAINTEXT."""
    return {**case, "security": "SSL"} if terms.certificates else case


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """CPU seconds of the server, what each plan got, how late its loop was. `loop_p99_ms` is None for Kafka."""

    cpu_seconds: float
    results: Sequence[LoadResult]
    loop_p99_ms: float | None

    def values(self, *, of_sent: bool = False) -> dict[str, float]:
        """The values of one measurement; the bytes are those received, or those sent."""
        moved = sum(each.sent_bytes if of_sent else each.received_bytes for each in self.results) / MEGABYTE
        seconds = max(result.seconds for result in self.results)
        latencies = sorted(latencies_of(self.results))
        values = {
            "mb_per_s": moved / seconds,
            "mb_per_cpu_s": moved / max(self.cpu_seconds, SHORTEST_CPU_S),
            "requests_per_s": len(latencies) / seconds,
            "requests_per_cpu_s": len(latencies) / max(self.cpu_seconds, SHORTEST_CPU_S),
            "p50_ms": 1000 * quantile(latencies, 0.50),
            "p99_ms": 1000 * quantile(latencies, 0.99),
            "seconds": seconds,
        }
        return values | self.cpu_shares_and_loop_delay(seconds)

    def cpu_shares_and_loop_delay(self, seconds: float) -> dict[str, float]:
        """CPU seconds per second of server and load, and how late the server's loop was, where that is known."""
        values = {
            "server_cpu": self.cpu_seconds / seconds,
            "load_cpu": sum(result.cpu_seconds for result in self.results) / seconds,
        }
        return values if self.loop_p99_ms is None else values | {"loop_p99_ms": self.loop_p99_ms}


def quantile(ordered: Sequence[float], share: float) -> float:
    """The `share` quantile of sorted values; 0 if there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class AlternatingRun:
    """One case, played in turns; each turn is noted in the journal."""

    def __init__(
        self, bench: str, case: Mapping[str, Value], terms: Terms, journal: Journal, show_progress: ShowProgress
    ) -> None:
        self.bench = bench
        self.case = case_with_security(case, terms)
        self.terms = terms
        self.journal = journal
        self.show_progress = show_progress
        self._heard: list[tuple[LoadPlan, LoadResult]] = []

    def play(
        self, servers: Sequence[Contender], measure: Callable[[Contender, float], dict[str, float]]
    ) -> list[Result]:
        """The medians and ratios, after a warm-up, if any, and `rounds` turns of each server.

        `measure` gets a server and the seconds of a turn.
        """
        for server in servers:
            if warm_up_s := self.terms.warm_up_of(server):
                self.show_progress(f"{self._title}: warming up {server.name}")
                measure(server, warm_up_s)
        for number in range(1, self.terms.rounds + 1):
            for server in servers:
                self.show_progress(f"{self._title}: round {number} of {self.terms.rounds}, {server.name}")
                self._heard.clear()
                self._note_result(server, number, measure(server, self.terms.seconds))
        return self.journal.conclude(self.bench, self.case)

    def measure(self, server: Contender, plans: Sequence[LoadPlan], loads: Sequence[LoadProcess]) -> MeasuredRun:
        """What each plan got while all ran side by side, each in a load of its own."""
        plans = [through_tls(server, plan) for plan in plans]
        running = list(zip(loads, plans, strict=True))
        for load, plan in running:
            load.prepare(plan)
        late_before, cpu_before = loop_delay_of(server), server.usage.cpu_seconds()
        for load, _ in running:
            load.start_load()
        results = [load.result() for load, _ in running]
        cpu = server.usage.cpu_seconds() - cpu_before
        late = loop_delay_of(server)
        self._heard += zip(plans, results, strict=True)
        p99_s = None if late is None or late_before is None else late.since(late_before).quantile(0.99)
        return MeasuredRun(cpu_seconds=cpu, results=results, loop_p99_ms=None if p99_s is None else 1000 * p99_s)

    def _note_result(self, server: Contender, number: int, values: Mapping[str, float]) -> None:
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
        if self.journal.wants_events:
            for plan, result in self._heard:
                self.journal.note_events(self._make_events(server, number, plan, result))

    def _make_events(self, server: Contender, number: int, plan: LoadPlan, result: LoadResult) -> Iterator[Event]:
        config = config_of(server.name, server.version, self.case)
        sent = len(plan.connections[0].requests[0]) if plan.connections and plan.asking.kind == "produce" else 0
        rate = round(1 / plan.connections[0].pace_s) if plan.connections and plan.connections[0].pace_s else 0
        for latency, ended, size in zip(result.latencies_s, result.ended_s, result.answer_bytes, strict=True):
            yield Event(
                kind=plan.asking.kind,
                bench=self.bench,
                config=config,
                round=number,
                partitions=plan.asking.partitions,
                rate=rate,
                client=plan.asking.client,
                latency_us=round(1e6 * latency),
                bytes=sent or size,
                ts=time_of(result.began_at + ended),
            )

    @property
    def _title(self) -> str:
        return f"{self.bench} {' '.join(f'{key}={value}' for key, value in self.case.items())}"
