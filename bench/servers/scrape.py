"""What a server shows over time: RSS from /proc, and from /metrics the memory budget and bytes in flight."""

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from time import perf_counter, time
from typing import Protocol

from ...client.connection import parse_address
from ..failures import BenchFailure
from .process import Usage

EVERY_S = 0.05
SHOWN = {
    "stepdown_downconversion_inflight_bytes": "budget_in_use_bytes",
    "stepdown_downconversion_peak_bytes": "budget_peak_bytes",
    "stepdown_downconversion_limit_bytes": "budget_limit_bytes",
    "stepdown_downconversion_waiters": "budget_waiters",
    "stepdown_copied_bytes_total": "converted_bytes",
    "stepdown_sendfile_bytes_total": "sendfile_bytes",
}


LOOP_DELAY = "stepdown_event_loop_delay_seconds"


class HasMetrics(Protocol):
    """`http` is "" where the server has no /metrics."""

    http: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSample:
    """One moment: `seconds` after the watch began, `at` in seconds since the epoch."""

    seconds: float
    at: float
    values: Mapping[str, float]


class MetricsScraper:
    """Reads /metrics of one server over one connection."""

    def __init__(self, address: str) -> None:
        host, port = parse_address(address)
        self._http = http.client.HTTPConnection(host, port, timeout=10)

    def read(self) -> dict[str, float]:
        """Each sample by its name with labels, as it is written."""
        try:
            self._http.request("GET", "/metrics")
            text = self._http.getresponse().read().decode()
        except (OSError, http.client.HTTPException) as fault:
            raise BenchFailure(f"/metrics does not answer: {fault}") from fault
        rows = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in rows}

    def close(self) -> None:
        self._http.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Observations by upper bound, ascending and cumulative, as /metrics writes them; the last bound is infinite."""

    counts: Mapping[float, float]

    @classmethod
    def of(cls, shown: Mapping[str, float], name: str) -> "Histogram":
        """The histogram of this name, which has no labels of its own, in what a scrape shows."""
        head = f'{name}_bucket{{le="'
        found = {float(key[len(head) : -2]): value for key, value in shown.items() if key.startswith(head)}
        return cls(counts=dict(sorted(found.items())))

    def since(self, before: "Histogram") -> "Histogram":
        """What came after `before`."""
        return Histogram(counts={bound: count - before.counts.get(bound, 0) for bound, count in self.counts.items()})

    def quantile(self, share: float) -> float:
        """As Prometheus' histogram_quantile: even in a bucket; the largest finite bound beyond it; 0 if there
        are no observations."""
        wanted = share * max(self.counts.values(), default=0.0)
        low = below = 0.0
        for bound, count in self.counts.items():
            if count >= wanted > below and bound != inf:
                return low + (bound - low) * (wanted - below) / (count - below)
            if bound != inf:
                low, below = bound, count
        return low if wanted > below else 0.0


def loop_delay_of(server: HasMetrics) -> Histogram | None:
    """How late the event loop of a server has been, in seconds; None of a server without /metrics."""
    if not server.http:
        return None
    scraper = MetricsScraper(server.http)
    try:
        return Histogram.of(scraper.read(), LOOP_DELAY)
    finally:
        scraper.close()


class ScrapedUsage:
    """What a server's process has used, as it tells itself; the peak is that of the samples taken."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._peak = 0

    def cpu_seconds(self) -> float:
        return self._read("process_cpu_seconds_total")

    def rss_bytes(self) -> int:
        now = int(self._read("process_resident_memory_bytes"))
        self._peak = max(self._peak, now)
        return now

    def peak_rss_bytes(self) -> int:
        self.rss_bytes()
        return self._peak

    def forget_peak(self) -> None:
        self._peak = 0

    def _read(self, name: str) -> float:
        scraper = MetricsScraper(self._address)
        try:
            return scraper.read()[name]
        except KeyError:
            raise BenchFailure(f"/metrics of {self._address} has no {name}") from None
        finally:
            scraper.close()


class UsageWatch:
    """Samples a server from a thread until closed, or the server has gone. `http` is "" where it has no /metrics."""

    def __init__(self, usage: Usage, http: str = "") -> None:
        self.moments: list[UsageSample] = []
        self._usage = usage
        self._http = http
        self._over = threading.Event()
        self._began = perf_counter()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> "UsageWatch":
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def sample(self, every_s: float) -> Iterator[UsageSample]:
        """The first moment, and each that comes at least so long after the last one given."""
        after = 0.0
        for moment in self.moments:
            if moment.seconds >= after:
                after = moment.seconds + every_s
                yield moment

    def most(self, name: str) -> float:
        """The largest value there was."""
        return max((moment.values[name] for moment in self.moments if name in moment.values), default=0.0)

    def _run(self) -> None:
        scraper = MetricsScraper(self._http) if self._http else None
        with suppress(OSError, BenchFailure):
            while not self._over.wait(EVERY_S):
                self._take_sample(scraper)
        if scraper is not None:
            scraper.close()

    def _take_sample(self, scraper: MetricsScraper | None) -> None:
        values = {"rss_bytes": float(self._usage.rss_bytes())}
        if scraper is not None:
            shown = scraper.read()
            values |= {ours: shown[theirs] for theirs, ours in SHOWN.items() if theirs in shown}
        self.moments.append(UsageSample(seconds=perf_counter() - self._began, at=time(), values=values))
