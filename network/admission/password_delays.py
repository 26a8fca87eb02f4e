"""Checks passwords that come over HTTP, one at a time for each network.

The answer to a wrong password is delayed by `delay_ms` (`connection.failed.authentication.delay.ms`, as for SASL).
Until then no other password from that network is checked, so closing early or many connections speed nothing up.
"""

import asyncio
import logging
from collections.abc import Callable

from ...config.keys.ip_address import network_of
from ..clock import Clock
from ..instruments import Counters
from .peer_log_limit import PeerLogLimit

LISTENER = "HTTP"
MECHANISM = "BASIC"

log = logging.getLogger(__name__)


class PasswordDelays:
    """The networks whose last password was wrong, each until its delay is over.

    `failed` counts by listener and mechanism.
    """

    def __init__(self, clock: Clock, delay_ms: int, failed: Counters, lines: PeerLogLimit) -> None:
        self._clock = clock
        self._delay_ms = delay_ms
        self._failed = failed
        self._lines = lines
        self._delays: dict[str, asyncio.Event] = {}

    async def check_with_delay(self, address: str, is_right: Callable[[], bool]) -> bool:
        """Waits until the network's delays are over; then returns `is_right()`, False only after one more delay."""
        network = network_of(address)
        while network in self._delays:
            await self._delays[network].wait()
        if is_right():
            return True
        self._failed.of(LISTENER, MECHANISM).add()
        self._lines.warn(log, network, f"wrong password for the page (stepdown.page.password) from {address}")
        await self._begin_delay(network).wait()
        return False

    def _begin_delay(self, network: str) -> asyncio.Event:
        """Returns an event that is set when the next password of that network may be checked."""
        over = self._delays[network] = asyncio.Event()
        self._clock.call_later(self._delay_ms, lambda: self._end_delay(network))
        return over

    def _end_delay(self, network: str) -> None:
        self._delays.pop(network).set()
