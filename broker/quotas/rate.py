"""A rate over a sliding window, as Kafka measures it for quotas (`Rate`, `SampledStat`, `QuotaUtils` of Kafka 3.9).

A rate covers `samples` windows of `window_ms`; a window begins with the first value after the last window has ended. A
young rate counts as if it were `samples - 1` windows old: a client may use at once what those allow.
"""

from typing import Final

LONGEST_WAIT_MS: Final = 3_600_000
"""The longest throttle time.

The field holds 2^31 - 1 ms, which a rate of 1 byte/s exceeds with a record of 3 MB (Kafka 3.9 cuts the number to 32
bits: with a negative one the client does not wait).
"""


def limit_wait_ms(wait_ms: float) -> int:
    """Rounded to whole ms, from 0 to LONGEST_WAIT_MS."""
    return int(min(max(wait_ms, 0.0), LONGEST_WAIT_MS) + 0.5)


class _Sample:
    """The sum of the values since `start_ms`."""

    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.value = 0.0
        self.start_ms = self.last_ms = now_ms


class Rate:
    """Counts values, and computes the wait until their rate is within a bound. Times in ms, rates by the second."""

    __slots__ = ("_current", "_most", "_samples", "_window_ms")

    def __init__(self, samples: int, window_ms: int) -> None:
        self._most = samples
        self._window_ms = window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Counts a value; a negative one takes back what was counted."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._window_ms:
            sample = self._next_sample(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def _next_sample(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (
            self._most + 1
        )  # one more sample, since the oldest may reach into the window
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def measure(self, now_ms: int) -> float:
        """The rate by the second, rounded as Kafka rounds it."""
        span_s = self.span_ms(now_ms) / 1000
        return sum(sample.value for sample in self._samples) / span_s

    def span_ms(self, now_ms: int) -> int:
        """The time over which the rate is measured."""
        for sample in self._samples:
            if now_ms - sample.last_ms >= self._most * self._window_ms:
                sample.reset(now_ms)
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        missing = self._most - 1 - elapsed_ms // self._window_ms
        return max(1, elapsed_ms + max(0, missing) * self._window_ms)

    def excess_ms(self, bound: float, now_ms: int) -> int:
        """The wait, without another value, until the rate is down at the bound; 0 where it is not above.

        At most LONGEST_WAIT_MS.
        """
        rate = self.measure(now_ms)
        return limit_wait_ms((rate - bound) / bound * self.span_ms(now_ms)) if rate > bound else 0
