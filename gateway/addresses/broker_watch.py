"""Brokers that may take no connections: each is tried until it does, and its port is closed meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable

from ...network.clock import Clock
from .broker_ports import BrokerPorts

PAUSE_MS = 500
"""Between two tries."""


class BrokerWatch:
    """`takes_connections` tries to connect to a broker."""

    def __init__(self, ports: BrokerPorts, takes_connections: Callable[[int], Awaitable[bool]], clock: Clock) -> None:
        self._ports = ports
        self._takes_connections = takes_connections
        self._clock = clock
        self._watching: dict[int, asyncio.Task[None]] = {}

    def suspect(self, broker: int) -> None:
        """A connection to that broker broke, or could not be opened."""
        if broker in self._ports.ports and broker not in self._watching:
            self._watching[broker] = asyncio.create_task(self._watch(broker))

    async def _watch(self, broker: int) -> None:
        try:
            while not (await self._takes_connections(broker) and self._ports.reopen(broker)):
                self._ports.close(broker)
                await self._clock.sleep(PAUSE_MS)
        finally:
            del self._watching[broker]

    async def stop(self) -> None:
        """Tries no more."""
        tasks = list(self._watching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
