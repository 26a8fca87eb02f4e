"""Measures how late the event loop is, by a timer that should ring every 100 ms.

One thread serves all clients, so what holds the loop delays every client, and shows here.
"""

from collections.abc import Callable
from time import perf_counter

from ...network.clock import Clock, Timer
from ...network.metrics.instruments import HistogramFamily

INTERVAL_MS = 100


class LoopDelay:
    """Observes in `histogram` how many seconds late each ring was.

    `now_s` is a monotonic clock. `on_ring` is called with these seconds and the time of the next ring.
    """

    def __init__(
        self,
        clock: Clock,
        histogram: HistogramFamily,
        on_ring: Callable[[float, float], None] | None = None,
        now_s: Callable[[], float] = perf_counter,
    ) -> None:
        self._clock = clock
        self._histogram = histogram
        self._on_ring = on_ring
        self._now_s = now_s
        self._due_s = 0.0
        self._timer: Timer | None = None

    def start(self) -> None:
        self._due_s = self._now_s() + INTERVAL_MS / 1000
        self._timer = self._clock.call_later(INTERVAL_MS, self._ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        late_s = max(0.0, self._now_s() - self._due_s)
        self._histogram.observe(late_s)
        self.start()
        if self._on_ring is not None:
            self._on_ring(late_s, self._due_s)
