"""Passwords that are tried over HTTP, by the network they come from: one after another.

A wrong one is answered after `delay_ms` (`connection.failed.authentication.delay.ms`, as a failed login over SASL), and
no other one of its network is looked at before: who hangs up early, or comes by many connections, learns no more.
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


class PasswordTries:
    """`failed` counts by listener and mechanism."""

    def __init__(self, clock: Clock, delay_ms: int, failed: Counters, lines: PeerLogLimit) -> None:
        self._clock = clock
        self._delay_ms = delay_ms
        self._failed = failed
        self._lines = lines
        self._delays: dict[str, asyncio.Event] = {}

    async def try_password(self, address: str, is_right: Callable[[], bool]) -> bool:
        """What `is_right` says of a password from that address, in its turn; when it is wrong, after the delay."""
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
        """Set when the next one of that network may be looked at."""
        over = self._delays[network] = asyncio.Event()
        self._clock.call_later(self._delay_ms, lambda: self._end_delay(network))
        return over

    def _end_delay(self, network: str) -> None:
        self._delays.pop(network).set()
