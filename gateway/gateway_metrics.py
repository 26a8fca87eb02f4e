"""The metrics of a gateway."""

from collections.abc import Callable, Iterable

from ..network.memory_budget import MemoryBudget
from ..network.metrics.counts import Counter, Histogram
from ..network.metrics.instruments import DURATION_BUCKETS, CounterFamily, Instruments
from ..protocol.kafka_releases import api_name

MOST_ROWS = 2_000


class GatewayMetrics:
    """The counters of one gateway, with those that a `Sender` needs."""

    def __init__(self) -> None:
        self.instruments = Instruments()
        counter = self.instruments.counter
        self.requests = counter(
            "stepdown_gateway_requests",
            "Requests by the version that the client sent and the one that the cluster got.",
            *("api", "version", "sent_as"),
            limit=MOST_ROWS,
        )
        self.refused = counter(
            "stepdown_gateway_refused_requests",
            "Requests that ended in a closed connection.",
            *("api", "version"),
            limit=MOST_ROWS,
        )
        self.mapped_errors = counter(
            "stepdown_gateway_mapped_errors",
            "Error codes of the cluster that became codes which the client knows.",
            *("api", "from", "to"),
            limit=MOST_ROWS,
        )
        self.lost = counter("stepdown_gateway_lost", "What a translation could not carry.", "what")
        self.closed_connections = counter(
            "stepdown_gateway_closed_connections", "Connections of clients that ended.", "reason"
        )
        self.failed_authentications = make_failed_logins_counter(self.instruments)
        self.upstream_failures = counter(
            "stepdown_gateway_upstream_failures", "Connections and questions to the cluster that failed.", "broker"
        )
        self._received = counter("stepdown_gateway_received_bytes", "Bytes of requests and answers.", "from")
        self.client_bytes: Counter = self._received.of("client")
        self.upstream_bytes: Counter = self._received.of("upstream")
        self.request_seconds = self.instruments.histogram(
            "stepdown_gateway_request_seconds",
            "Time from a request to its answer, that of the cluster included.",
            DURATION_BUCKETS,
            "how",
        )
        self.sendfile_bytes = self.copied_bytes = Counter()  # a gateway sends no files and no conversions
        self._meters: dict[tuple[int, int, int], GatewayMeter] = {}

    def add_gauges(
        self, connections: Callable[[], Iterable[tuple[tuple[str, ...], float]]], answers: MemoryBudget
    ) -> None:
        """Adds the gauges of the gateway's connections and memory."""
        gauge = self.instruments.gauge
        gauge("stepdown_gateway_connections", "Connections of clients.", connections, "listener")
        gauge(
            "stepdown_gateway_answer_memory_bytes",
            "Of answer.memory.bytes in use.",
            lambda: answers.in_use_bytes,
        )
        self.instruments.tally(
            "stepdown_gateway_answer_memory_waits", "Answers that waited for memory.", lambda: answers.waits
        )

    def meter_of(self, key: int, version: int, sent_as: int) -> "GatewayMeter":
        """The meter of an API in an offered version, so that clients cannot create labels."""
        meter = self._meters.get((key, version, sent_as))
        if meter is None:
            meter = self._meters[key, version, sent_as] = GatewayMeter(
                self.requests.of(api_name(key), str(version), str(sent_as)),
                self.request_seconds.of("translated" if sent_as > version else "passed"),
            )
        return meter


def make_failed_logins_counter(instruments: Instruments) -> CounterFamily:
    """Counters of logins of clients, and of wrong passwords of the page."""
    return instruments.counter(
        "stepdown_gateway_failed_authentications", "Logins that failed.", "listener", "mechanism"
    )


class GatewayMeter:
    """Counts the requests of an API in a version; implements `RequestMeter`."""

    __slots__ = ("_requests", "_seconds")

    def __init__(self, requests: Counter, seconds: Histogram) -> None:
        self._requests = requests
        self._seconds = seconds

    def observe_handling(self, size_bytes: int, seconds: float, waited_s: float) -> None:
        self._requests.value += 1.0
        self._seconds.observe(seconds)

    def observe_sending(self, seconds: float, total_s: float) -> None:
        pass

    def count_throttling(self, throttle_ms: int) -> None:
        """Not counted: the brokers throttle, and count it."""
