"""Counts bytes that are kept for clients without a claim: incomplete requests and unread answers.

Above `soft_bytes`, the network with the most bytes gives up its oldest items, if they are older than `patience_ms`.
Above `most_bytes` it gives them up at any age.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ..clock import Clock


@dataclass(frozen=True, slots=True)
class KeptItem:
    """`give_up` frees the bytes, by closing their connection."""

    size_bytes: int
    since_ms: int
    give_up: Callable[[], None]


class KeptBytes:
    """Has at most one item for each key. If there is only one item, it may have any size."""

    def __init__(self, soft_bytes: int, most_bytes: int, clock: Clock, patience_ms: int = 0) -> None:
        self.in_use_bytes = 0
        self.limit_bytes = most_bytes
        self._soft_bytes = soft_bytes
        self._clock = clock
        self._patience_ms = patience_ms
        self._of: dict[str, dict[Hashable, KeptItem]] = {}
        self._bytes_of: Counter[str] = Counter()

    def keep(self, key: Hashable, network: str, size_bytes: int, give_up: Callable[[], None]) -> None:
        """Counts the bytes for `network` until `release`. If others need them first, calls `give_up`."""
        self._of.setdefault(network, {})[key] = KeptItem(size_bytes, self._clock.monotonic_ms(), give_up)
        self._bytes_of[network] += size_bytes
        self.in_use_bytes += size_bytes
        self._give_up_oldest_of_largest()

    def release(self, key: Hashable, network: str) -> None:
        """Counts the item no more; does nothing if it is not there."""
        own = self._of.get(network, {})
        item = own.pop(key, None)
        if item is None:
            return
        self.in_use_bytes -= item.size_bytes
        self._bytes_of[network] -= item.size_bytes
        if not own:
            del self._of[network], self._bytes_of[network]

    def _give_up_oldest_of_largest(self) -> None:
        while self.in_use_bytes > self._soft_bytes:
            network = max(self._bytes_of, key=self._bytes_of.__getitem__)
            own = self._of[network]
            if len(self._of) == len(own) == 1:
                return
            key, oldest = next(iter(own.items()))
            kept_ms = self._clock.monotonic_ms() - oldest.since_ms
            if kept_ms < self._patience_ms and self.in_use_bytes <= self.limit_bytes:
                return
            self.release(key, network)
            oldest.give_up()
