"""The page /metrics for Prometheus.

A scrape of ten thousand partitions is a third of a second of work: the loop reads the numbers in turns, a worker does
the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from ..metrics.instruments import Instruments
from ..turn import Turns
from .server import Page


class _SnapshotCollector(Collector):
    """Collects the families of a snapshot."""

    def __init__(self, families: list[Callable[[], Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return [make() for make in self._families]


class MetricsPage:
    """Requests that come while the page is being made get the same page. `work` runs a function in a thread."""

    def __init__(
        self,
        instruments: Instruments,
        turns: Turns,
        work: Callable[[Callable[[CollectorRegistry], bytes], CollectorRegistry], Awaitable[bytes]],
    ) -> None:
        self._instruments = instruments
        self._turns = turns
        self._work = work
        self._rendering: asyncio.Task[Page] | None = None

    async def __call__(self) -> Page:
        if self._rendering is None or self._rendering.done():
            self._rendering = asyncio.create_task(self._render())
        return await asyncio.shield(self._rendering)

    async def _render(self) -> Page:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(
            _SnapshotCollector([family async for family in self._instruments.take_snapshots(self._turns.begin())])
        )
        return Page(body=await self._work(generate_latest, registry), content_type=CONTENT_TYPE_LATEST)
