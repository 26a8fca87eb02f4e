"""Tokens that are refilled at a rate, up to a burst; taking more than there are leaves a debt (KIP-599, Kafka 3.9
`TokenBucket`).
"""

from .rate import limit_wait_ms


class TokenBucket:
    """`tokens` may be below 0. A bucket begins full."""

    __slots__ = ("_burst_s", "_tokens", "_updated_ms")

    def __init__(self, burst_s: float) -> None:
        self._burst_s = burst_s
        self._tokens: float | None = None
        self._updated_ms = 0

    def record(self, count: float, rate: float, now_ms: int) -> None:
        """Takes tokens, whether they are there or not."""
        self._tokens = min(self._burst_s * rate, self.tokens(rate, now_ms) - count)

    def tokens(self, rate: float, now_ms: int) -> float:
        """How many tokens there are now; `rate` is by the second."""
        burst = self._burst_s * rate
        before = burst if self._tokens is None else self._tokens
        self._tokens = min(burst, before + rate * (now_ms - self._updated_ms) / 1000)
        self._updated_ms = now_ms
        return self._tokens

    def debt_ms(self, rate: float, now_ms: int) -> int:
        """How long it takes until the debt is refilled, at most LONGEST_WAIT_MS."""
        tokens = self.tokens(rate, now_ms)
        return limit_wait_ms(-tokens / rate * 1000) if tokens < 0 else 0
