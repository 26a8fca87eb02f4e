"""Figures off /metrics."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import inf

import pytest
from stepdown.bench.failures import BenchFailure
from stepdown.bench.servers.process import wait_until
from stepdown.bench.servers.scrape import Histogram, ScrapedUsage, UsageWatch, loop_delay_of

PAGE = b"""# HELP stepdown_event_loop_delay_seconds How late
# TYPE stepdown_event_loop_delay_seconds histogram
stepdown_event_loop_delay_seconds_bucket{le="0.001"} 90.0
stepdown_event_loop_delay_seconds_bucket{le="0.01"} 100.0
stepdown_event_loop_delay_seconds_bucket{le="+Inf"} 100.0
stepdown_downconversion_inflight_bytes 131072.0
process_cpu_seconds_total 1.5
process_resident_memory_bytes 4e+07
"""


@dataclass
class Exporter:
    """Answers every GET with `PAGE`."""

    http: str


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Exporter(f"127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()
    thread.join()


class Steady:
    """A process that uses what it uses."""

    def cpu_seconds(self) -> float:
        return 0.0

    def rss_bytes(self) -> int:
        return 7

    def peak_rss_bytes(self) -> int:
        return 7

    def forget_peak(self) -> None:
        """Nothing to forget."""


def test_a_quantile_lies_evenly_in_its_bucket() -> None:
    histogram = Histogram(counts={1.0: 50, 2.0: 100, inf: 100})
    assert histogram.quantile(0.5) == 1.0
    assert histogram.quantile(0.75) == 1.5
    assert histogram.quantile(1.0) == 2.0


def test_beyond_the_last_bound_nothing_more_is_known() -> None:
    assert Histogram(counts={1.0: 1, inf: 100}).quantile(0.99) == 1.0


def test_of_nothing_every_quantile_is_0() -> None:
    assert Histogram(counts={}).quantile(0.99) == 0.0
    assert Histogram(counts={1.0: 0, inf: 0}).quantile(0.99) == 0.0


def test_what_was_there_before_does_not_count() -> None:
    before, after = Histogram(counts={1.0: 90, 2.0: 90, inf: 90}), Histogram(counts={1.0: 90, 2.0: 100, inf: 100})
    assert after.since(before).quantile(0.5) == 1.5


def test_the_loops_delay_is_read_off_a_server(exporter: Exporter) -> None:
    delay = loop_delay_of(exporter)
    assert delay is not None
    assert delay.counts == {0.001: 90.0, 0.01: 100.0, inf: 100.0}


def test_a_server_without_metrics_has_no_loop_to_be_late() -> None:
    assert loop_delay_of(Exporter("")) is None


def test_a_process_elsewhere_tells_what_it_uses(exporter: Exporter) -> None:
    usage = ScrapedUsage(exporter.http)
    assert (usage.cpu_seconds(), usage.rss_bytes(), usage.peak_rss_bytes()) == (1.5, 40_000_000, 40_000_000)


def test_who_does_not_answer_is_named() -> None:
    with pytest.raises(BenchFailure, match="/metrics does not answer"):
        ScrapedUsage("127.0.0.1:1").cpu_seconds()


def test_a_watch_keeps_moments_until_it_ends(exporter: Exporter) -> None:
    with UsageWatch(Steady(), exporter.http) as watch:
        wait_until(lambda: len(watch.moments) > 1, "two moments")
    assert watch.moments[0].values == {"rss_bytes": 7.0, "budget_in_use_bytes": 131072.0}
    assert watch.most("budget_in_use_bytes") == 131072.0
    assert watch.most("unknown") == 0.0


def test_fewer_moments_are_given_on_request() -> None:
    with UsageWatch(Steady()) as watch:
        wait_until(lambda: len(watch.moments) > 1, "two moments")
    assert list(watch.sample(1000.0)) == watch.moments[:1]
    assert list(watch.sample(0.0)) == watch.moments
