"""The producer's metrics under Kafka's names: sums, averages, maxima, and rates over two windows of 30 s.

Source: Kafka 3.9, SenderMetricsRegistry, KafkaProducerMetrics. A rate is what the live windows hold over the time since
the oldest of them began, at least one whole window less the running one, as Kafka's Rate counts.
"""

from collections import deque
from collections.abc import Callable

WINDOW_MS = 30_000
WINDOWS = 2


class Sampled:
    """Values of the last windows: [start, sum, count, max] each."""

    __slots__ = ("_windows", "total", "total_count")

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque()
        self.total = 0.0
        self.total_count = 0

    def add(self, value: float, now_ms: int, count: int = 1) -> None:
        windows = self._windows
        if not windows or now_ms - windows[-1][0] >= WINDOW_MS:
            windows.append([now_ms, 0.0, 0, float("-inf")])
            if len(windows) > WINDOWS:
                windows.popleft()
        window = windows[-1]
        window[1] += value
        window[2] += count
        if value > window[3]:
            window[3] = value
        self.total += value
        self.total_count += count

    def _live(self, now_ms: int) -> list[list[float]]:
        return [window for window in self._windows if now_ms - window[0] < WINDOWS * WINDOW_MS]

    def rate(self, now_ms: int) -> float:
        """Per second."""
        live = self._live(now_ms)
        if not live:
            return 0.0
        elapsed_ms = max(now_ms - live[0][0], WINDOW_MS * (WINDOWS - 1))
        return sum(window[1] for window in live) * 1000 / elapsed_ms

    def average(self, now_ms: int) -> float:
        live = self._live(now_ms)
        count = sum(window[2] for window in live)
        return sum(window[1] for window in live) / count if count else float("nan")

    def maximum(self, now_ms: int) -> float:
        return max((window[3] for window in self._live(now_ms)), default=float("nan"))


AVERAGED = {
    "batch-size": "batch_bytes",
    "record-queue-time": "queue_ms",
    "request-latency": "latency_ms",
    "record-size": "record_bytes",
    "produce-throttle-time": "throttle_ms",
}
COUNTED = {
    "record-send": "sent",
    "record-retry": "retried",
    "record-error": "failed",
    "batch-split": "splits",
    "buffer-exhausted": "exhausted",
}
TIMED = ("flush", "txn-init", "txn-begin", "txn-send-offsets", "txn-commit", "txn-abort")
TOPIC_COUNTED = {"record-send": "sent", "byte": "sent_bytes", "record-retry": "retried", "record-error": "failed"}


class _Series(dict[str, Sampled]):
    def __missing__(self, name: str) -> Sampled:
        series = self[name] = Sampled()
        return series


class Meters:
    """What was counted; `gauges` are asked when metrics are."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.series = _Series()
        self.topics: dict[str, _Series] = {}
        self.gauges: dict[str, Callable[[], float]] = {}
        self.elapsed_ns = dict.fromkeys(TIMED, 0)

    def count(self, name: str, value: float = 1, count: int = 1) -> None:
        self.series[name].add(value, self._now(), count)

    def count_topic(self, name: str, topic: str, value: float) -> None:
        """Counts for the producer and for the topic."""
        now_ms = self._now()
        self.series[name].add(value, now_ms)
        self._topic(topic)[name].add(value, now_ms)

    def batch_sent(
        self, topic: str, *, size_bytes: int, queue_ms: int, record_bytes: int, records: int, ratio: float
    ) -> None:
        """Counts a batch that goes into a request, for the producer and for the topic."""
        now_ms, own, topics = self._now(), self.series, self._topic(topic)
        own["batch_bytes"].add(size_bytes, now_ms)
        own["queue_ms"].add(queue_ms, now_ms)
        own["record_bytes"].add(record_bytes, now_ms)
        for series in (own, topics):
            series["sent"].add(records, now_ms)
            series["sent_bytes"].add(size_bytes, now_ms)
            series["ratio"].add(ratio, now_ms)

    def _topic(self, topic: str) -> _Series:
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = _Series()
        return found

    def snapshot(self) -> dict[str, float]:
        """Name to value, as in Kafka's group `producer-metrics`."""
        now_ms = self._now()
        values: dict[str, float] = {name: gauge() for name, gauge in self.gauges.items()}
        for name, key in AVERAGED.items():
            values[f"{name}-avg"] = self.series[key].average(now_ms)
            values[f"{name}-max"] = self.series[key].maximum(now_ms)
        for name, key in COUNTED.items():
            values[f"{name}-rate"] = self.series[key].rate(now_ms)
            values[f"{name}-total"] = self.series[key].total
        values["compression-rate-avg"] = self.series["ratio"].average(now_ms)
        values["records-per-request-avg"] = self.series["request_records"].average(now_ms)
        for name, elapsed in self.elapsed_ns.items():
            values[f"{name}-time-ns-total"] = elapsed
        return values

    def topic_snapshot(self) -> dict[str, dict[str, float]]:
        """Topic to the values of Kafka's group `producer-topic-metrics`."""
        now_ms = self._now()
        result: dict[str, dict[str, float]] = {}
        for topic, series in self.topics.items():
            values = {"compression-rate": series["ratio"].average(now_ms)}
            for name, key in TOPIC_COUNTED.items():
                values[f"{name}-rate"] = series[key].rate(now_ms)
                values[f"{name}-total"] = series[key].total
            result[topic] = values
        return result
