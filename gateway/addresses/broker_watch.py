"""Tries brokers that may take no connections until they do, and keeps their ports closed meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable

from ...network.clock import Clock
from ...network.instruments import Counters
from .broker_ports import BrokerPorts

PAUSE_MS = 500
"""Between two tries."""


class BrokerWatch:
    """`takes_connections` tries to connect to a broker; `failures` counts the tries that failed."""

    def __init__(
        self,
        ports: BrokerPorts,
        takes_connections: Callable[[int], Awaitable[bool]],
        clock: Clock,
        failures: Counters,
    ) -> None:
        self._ports = ports
        self._takes_connections = takes_connections
        self._clock = clock
        self._failures = failures
        self._watching: dict[int, asyncio.Task[None]] = {}

    def suspect(self, broker: int) -> None:
        """Starts to try a broker, to which a connection broke or could not be opened."""
        if broker in self._ports.ports and broker not in self._watching:
            self._watching[broker] = asyncio.create_task(self._watch(broker))

    async def _watch(self, broker: int) -> None:
        try:
            while True:
                if not await self._takes_connections(broker):
                    self._failures.of(str(broker)).add()
                elif self._ports.reopen(broker):
                    break
                self._ports.close(broker)
                await self._clock.sleep(PAUSE_MS)
        finally:
            del self._watching[broker]

    async def stop(self) -> None:
        """Stops all tries."""
        tasks = list(self._watching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
