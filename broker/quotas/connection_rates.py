"""The rates at which connections may come: from an address, at a listener, and in all (KIP-612)."""

from collections.abc import Callable

from .client_quotas import ClientQuotas, MeterByEntity
from .rate import Rate

NO_RATE = (1 << 31) - 1


class ConnectionRates:
    """Counts connections, and computes waits of at most a window of `quota.window.size.seconds`."""

    def __init__(
        self, quotas: ClientQuotas, most_by_second: Callable[[], int], most_at_listener: Callable[[str], int]
    ) -> None:
        self._quotas = quotas
        self._most_by_second = most_by_second
        self._most_at_listener = most_at_listener
        self._of_address = MeterByEntity(self._rate)
        self._of_all = self._rate()
        self._of_listener: dict[str, Rate] = {}

    def _rate(self) -> Rate:
        return Rate(self._quotas.samples, self._quotas.window_s * 1000)

    def refusal_delay_ms(self, address: str) -> int:
        """Counts a connection from the address and returns 0; else the ms after which it has to be closed,
        uncounted.
        """
        bound = self._quotas.connection_creation_rate.of_address(address)
        if bound is None:
            return 0
        now_ms = self._quotas.clock.monotonic_ms()
        rate = self._of_address.of((address, ""))
        rate.record(1, now_ms)
        refusal_delay_ms = self._limit_to_window(rate.excess_ms(bound, now_ms))
        if refusal_delay_ms:
            rate.record(-1, now_ms)
        return refusal_delay_ms

    def server_pause_ms(self) -> int:
        """Counts an accepted connection; returns for how many ms no other one may be accepted."""
        return self._count_and_wait_ms(self._of_all, self._most_by_second())

    def listener_pause_ms(self, listener: str) -> int:
        """As `pause_ms`, for one listener."""
        bound = self._most_at_listener(listener)
        if bound >= NO_RATE:
            return 0
        rate = self._of_listener.get(listener)
        if rate is None:
            rate = self._of_listener[listener] = self._rate()
        return self._count_and_wait_ms(rate, bound)

    def _count_and_wait_ms(self, rate: Rate, bound: int) -> int:
        if bound >= NO_RATE:
            return 0
        now_ms = self._quotas.clock.monotonic_ms()
        rate.record(1, now_ms)
        return self._limit_to_window(rate.excess_ms(max(bound, 1), now_ms))

    def _limit_to_window(self, wait_ms: int) -> int:
        return min(wait_ms, self._quotas.window_s * 1000)
