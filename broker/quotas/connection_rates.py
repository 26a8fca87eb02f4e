"""How fast connections may come: from one address (KIP-612), and all together (`max.connection.creation.rate`)."""

from collections.abc import Callable

from .client_quotas import ClientQuotas, Measured
from .rate import Rate

NO_RATE = (1 << 31) - 1


class ConnectionRates:
    """Counts connections. Nobody waits longer than a window of `quota.window.size.seconds`."""

    def __init__(self, quotas: ClientQuotas, most_by_second: Callable[[], int]) -> None:
        self._quotas = quotas
        self._most_by_second = most_by_second
        self._of_address = Measured(self._rate)
        self._of_all = self._rate()

    def _rate(self) -> Rate:
        return Rate(self._quotas.samples, self._quotas.window_s * 1000)

    def refuse_ms(self, address: str) -> int:
        """0: a connection from there is welcome, and counted. Else it has to be closed, after so many ms."""
        bound = self._quotas.connection_creation_rate.of_address(address)
        if bound is None:
            return 0
        now_ms = self._quotas.clock.now_ms()
        rate = self._of_address.of((address, ""))
        rate.record(1, now_ms)
        refuse_ms = self._bounded(rate.excess_ms(bound, now_ms))
        if refuse_ms:
            rate.record(-1, now_ms)
        return refuse_ms

    def pause_ms(self) -> int:
        """Counts a connection that was taken; for how long no other one is to be."""
        bound = self._most_by_second()
        if bound >= NO_RATE:
            return 0
        now_ms = self._quotas.clock.now_ms()
        self._of_all.record(1, now_ms)
        return self._bounded(self._of_all.excess_ms(max(bound, 1), now_ms))

    def _bounded(self, wait_ms: int) -> int:
        return min(wait_ms, self._quotas.window_s * 1000)
