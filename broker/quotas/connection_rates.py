"""How fast connections may come: from one address, at one listener and all together (KIP-612)."""

from collections.abc import Callable

from .client_quotas import ClientQuotas, MeterByEntity
from .rate import Rate

NO_RATE = (1 << 31) - 1


class ConnectionRates:
    """Counts connections. Nobody waits longer than a window of `quota.window.size.seconds`."""

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
        """0: a connection from there is welcome, and counted. Else the time in ms after which it has to be closed."""
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
        """Counts a connection that was taken; for how long no other one is to be."""
        return self._count_and_wait_ms(self._of_all, self._most_by_second())

    def listener_pause_ms(self, listener: str) -> int:
        """The same of one listener."""
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
