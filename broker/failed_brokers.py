"""Brokers of a cluster that cannot go on, since all of their log directories are offline: they halt, as in Kafka."""

import asyncio
from collections.abc import Callable

from .broker_cluster import BrokerCluster


class FailedBrokers:
    """Kills each broker of a cluster that has failed; calls `on_none_left` after the last."""

    def __init__(self, cluster: BrokerCluster, on_none_left: Callable[[], object] = lambda: None) -> None:
        self._cluster = cluster
        self._on_none_left = on_none_left
        self._ending: list[asyncio.Task[None]] = []
        cluster.on_failed = self._start_ending

    def _start_ending(self, node_id: int) -> None:
        self._ending.append(asyncio.ensure_future(self._kill_failed_broker(node_id)))

    async def _kill_failed_broker(self, node_id: int) -> None:
        if node_id in self._cluster.brokers:
            await self._cluster.kill_broker(node_id)  # a disk that fails may keep a stop waiting
        if not self._cluster.brokers:
            self._on_none_left()

    async def wait_for_kills(self) -> None:
        """Returns when all failed brokers have ended."""
        await asyncio.gather(*self._ending)
