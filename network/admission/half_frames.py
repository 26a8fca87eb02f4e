"""The bytes of requests that have begun and are not whole, of all connections, as far as nothing else counts them.

Above `soft_bytes` those of the network that has most of them give way that have waited for their rest for longer than
`patience_ms`, the oldest first; above twice as much without that patience.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ..clock import Clock


@dataclass(frozen=True, slots=True)
class HalfFrame:
    """`give_up` ends its connection."""

    network: str
    size_bytes: int
    since_ms: int
    give_up: Callable[[], None]


class HalfFrames:
    """One of a connection at most, by its key."""

    def __init__(self, soft_bytes: int, clock: Clock, patience_ms: int) -> None:
        self.in_use_bytes = 0
        self._soft_bytes = soft_bytes
        self._clock = clock
        self._patience_ms = patience_ms
        self._of: dict[str, dict[Hashable, HalfFrame]] = {}
        self._bytes_of: Counter[str] = Counter()

    def keep(self, key: Hashable, network: str, size_bytes: int, give_up: Callable[[], None]) -> None:
        """Counts what has come of a frame until `release`, or until its connection gives way."""
        half = HalfFrame(network, size_bytes, self._clock.now_ms(), give_up)
        self._of.setdefault(network, {})[key] = half
        self._bytes_of[network] += size_bytes
        self.in_use_bytes += size_bytes
        self._make_room()

    def release(self, key: Hashable, network: str) -> None:
        """Again is harmless."""
        own = self._of.get(network, {})
        half = own.pop(key, None)
        if half is None:
            return
        self.in_use_bytes -= half.size_bytes
        self._bytes_of[network] -= half.size_bytes
        if not own:
            del self._of[network], self._bytes_of[network]

    def _make_room(self) -> None:
        while self.in_use_bytes > self._soft_bytes:
            network = max(self._bytes_of, key=self._bytes_of.__getitem__)
            key, oldest = next(iter(self._of[network].items()))
            waited_ms = self._clock.now_ms() - oldest.since_ms
            if waited_ms < self._patience_ms and self.in_use_bytes <= 2 * self._soft_bytes:
                return
            self.release(key, network)
            oldest.give_up()
