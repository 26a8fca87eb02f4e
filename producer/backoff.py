"""How long to wait before the next attempt: `initial * 2^n`, capped, with a jitter of 20 %.

Source: Kafka 3.9, ExponentialBackoff.
"""

import random
from dataclasses import dataclass, field

JITTER = 0.2
_MOST_DOUBLINGS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """If `max_ms` is not above `initial_ms`, each wait is `initial_ms`, without jitter."""

    initial_ms: int
    max_ms: int
    draws: random.Random = field(default_factory=random.Random)

    def delay_ms(self, failures: int) -> int:
        """The wait after that many failures; 0 for none. Each call draws its own jitter."""
        if failures <= 0:
            return 0
        if self.max_ms <= self.initial_ms:
            return self.initial_ms
        exponential = self.initial_ms * 2 ** min(failures - 1, _MOST_DOUBLINGS)
        return int(min(exponential * self.draws.uniform(1 - JITTER, 1 + JITTER), self.max_ms))
