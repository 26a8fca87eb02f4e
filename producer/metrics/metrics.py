"""The producer's metrics under Kafka's names: sums, averages, maxima, and rates over two windows of 30 s.

Source: Kafka 3.9, SenderMetricsRegistry, KafkaProducerMetrics. A rate is the sum of the live windows over the time
since the oldest of them began; while that is less than a window, the length of one is added to it, as in Kafka's Rate.

A request only adds notes. They are added to the windows when metrics are read, or before another note if there are
MOST_NOTES or the first one is a second old. MOST_NOTES is low because that delays the request being sent.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

WINDOW_MS = 30_000
WINDOWS = 2
NOTES_MS = 1000
MOST_NOTES = 64

Note = tuple[str, int, int, int, int, float]
"""A batch of a request: topic, bytes, ms in the queue, bytes of its largest record, records, ratio."""


class SampledValues:
    """The values of the last windows, each [start, sum, count, max], and of all time."""

    __slots__ = ("_windows", "total", "total_count")

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque()
        self.total = 0.0
        self.total_count = 0

    def add(self, value: float, now_ms: int) -> None:
        self.add_sum(value, 1, value, now_ms)

    def add_all(self, values: Sequence[float], now_ms: int) -> None:
        """Counts some values, at least one."""
        self.add_sum(sum(values), len(values), max(values), now_ms)

    def add_sum(self, value: float, count: int, largest: float, now_ms: int) -> None:
        """Adds `count` values whose sum is `value`."""
        windows = self._windows
        if not windows or now_ms - windows[-1][0] >= WINDOW_MS:
            windows.append([now_ms, 0.0, 0, float("-inf")])
            if len(windows) > WINDOWS:
                windows.popleft()
        window = windows[-1]
        window[1] += value
        window[2] += count
        if largest > window[3]:
            window[3] = largest
        self.total += value
        self.total_count += count

    def _live_windows(self, now_ms: int) -> list[list[float]]:
        return [window for window in self._windows if now_ms - window[0] < WINDOWS * WINDOW_MS]

    def rate(self, now_ms: int) -> float:
        """The sum per second."""
        live = self._live_windows(now_ms)
        if not live:
            return 0.0
        elapsed_ms = now_ms - live[0][0]
        if elapsed_ms < WINDOW_MS:
            elapsed_ms += WINDOW_MS
        return sum(window[1] for window in live) * 1000 / elapsed_ms

    def average(self, now_ms: int) -> float:
        live = self._live_windows(now_ms)
        count = sum(window[2] for window in live)
        return sum(window[1] for window in live) / count if count else float("nan")

    def maximum(self, now_ms: int) -> float:
        return max((window[3] for window in self._live_windows(now_ms)), default=float("nan"))


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
TIMED = ("flush", "metadata-wait", "txn-init", "txn-begin", "txn-send-offsets", "txn-commit", "txn-abort")
TOPIC_COUNTED = {"record-send": "sent", "byte": "sent_bytes", "record-retry": "retried", "record-error": "failed"}


_TOPIC = itemgetter(0)


class _Series(dict[str, SampledValues]):
    def __missing__(self, name: str) -> SampledValues:
        series = self[name] = SampledValues()
        return series


class ProducerMetrics:
    """Counts events of a producer. `gauges` are read when metrics are."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._series = _Series()
        self._topics: dict[str, _Series] = {}
        self.gauges: dict[str, Callable[[], float]] = {}
        self.elapsed_ns = dict.fromkeys(TIMED, 0)
        self._noted_ms = self._noted_until_ms = 0
        self._batches: list[Note] = []
        self._requests: list[int] = []  # where in `_batches` each begins
        self._latencies: list[int] = []
        self._throttles: list[int] = []

    @property
    def series(self) -> Mapping[str, SampledValues]:
        """The counted values by their short names, such as those in `AVERAGED` and `COUNTED`."""
        self._move_notes_to_series()
        return self._series

    def count(self, name: str, value: float = 1) -> None:
        self._series[name].add(value, self._now())

    def count_topic(self, name: str, topic: str, value: float) -> None:
        """Counts for the producer and for the topic."""
        now_ms = self._now()
        self._series[name].add(value, now_ms)
        self._series_of_topic(topic)[name].add(value, now_ms)

    def count_request(self, notes: Iterable[Note], now_ms: int) -> None:
        """Counts a Produce request by the batches in it."""
        if now_ms >= self._noted_until_ms or len(self._batches) >= MOST_NOTES:
            self._begin_note_interval(now_ms)
        self._requests.append(len(self._batches))
        self._batches += notes

    def count_answer(self, latency_ms: int, throttle_ms: int, now_ms: int) -> None:
        """Counts the answer to a Produce request."""
        if now_ms >= self._noted_until_ms:
            self._begin_note_interval(now_ms)
        self._latencies.append(latency_ms)
        self._throttles.append(throttle_ms)

    def _begin_note_interval(self, now_ms: int) -> None:
        self._move_notes_to_series()
        self._noted_ms, self._noted_until_ms = now_ms, now_ms + NOTES_MS

    def _move_notes_to_series(self) -> None:
        """Adds the notes to the windows, at the time of the first one."""
        now_ms, own = self._noted_ms, self._series
        if self._latencies:
            own["latency_ms"].add_all(self._latencies, now_ms)
            own["throttle_ms"].add_all(self._throttles, now_ms)
            self._latencies, self._throttles = [], []
        if self._batches:
            records = [note[4] for note in self._batches]
            if len(self._requests) < len(records):
                ends = [*self._requests[1:], len(records)]
                records = [sum(records[begin:end]) for begin, end in zip(self._requests, ends, strict=True)]
            own["request_records"].add_all(records, now_ms)
            topics = set(map(_TOPIC, self._batches))
            if len(topics) == 1:
                _add_batches_to_series(self._batches, now_ms, own, self._series_of_topic(topics.pop()))
            else:
                _add_batches_to_series(self._batches, now_ms, own)
                for topic, notes in groupby(sorted(self._batches, key=_TOPIC), _TOPIC):
                    _add_batches_to_series(list(notes), now_ms, self._series_of_topic(topic))
            self._batches, self._requests = [], []

    def _series_of_topic(self, topic: str) -> _Series:
        found = self._topics.get(topic)
        if found is None:
            found = self._topics[topic] = _Series()
        return found

    def snapshot(self) -> dict[str, float]:
        """Name to value, as in Kafka's group `producer-metrics`."""
        self._move_notes_to_series()
        now_ms = self._now()
        values: dict[str, float] = {name: gauge() for name, gauge in self.gauges.items()}
        for name, key in AVERAGED.items():
            values[f"{name}-avg"] = self._series[key].average(now_ms)
            values[f"{name}-max"] = self._series[key].maximum(now_ms)
        for name, key in COUNTED.items():
            values[f"{name}-rate"] = self._series[key].rate(now_ms)
            values[f"{name}-total"] = self._series[key].total
        values["bufferpool-wait-ratio"] = self._series["waited_ms"].rate(now_ms) / 1000
        values["compression-rate-avg"] = self._series["ratio"].average(now_ms)
        values["records-per-request-avg"] = self._series["request_records"].average(now_ms)
        for name, elapsed in self.elapsed_ns.items():
            values[f"{name}-time-ns-total"] = elapsed
        return values

    def topic_snapshot(self) -> dict[str, dict[str, float]]:
        """Topic to the values of Kafka's group `producer-topic-metrics`."""
        self._move_notes_to_series()
        now_ms = self._now()
        result: dict[str, dict[str, float]] = {}
        for topic, series in self._topics.items():
            values = {"compression-rate": series["ratio"].average(now_ms)}
            for name, key in TOPIC_COUNTED.items():
                values[f"{name}-rate"] = series[key].rate(now_ms)
                values[f"{name}-total"] = series[key].total
            result[topic] = values
        return result


def _add_batches_to_series(batches: Sequence[Note], now_ms: int, *into: _Series) -> None:
    _, sizes, queued_ms, largest, records, ratios = zip(*batches, strict=True)
    counted = {
        "sent": records,
        "sent_bytes": sizes,
        "ratio": ratios,
        "batch_bytes": sizes,
        "queue_ms": queued_ms,
        "record_bytes": largest,
    }
    for name, values in counted.items():
        total, most = sum(values), max(values)
        for series in into:
            series[name].add_sum(total, len(batches), most, now_ms)
