"""The page /metrics for Prometheus.

A scrape of ten thousand partitions is a third of a second of work: the loop reads the numbers in turns, a worker does
the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from ..metrics.instruments import FamilySnapshot, Instruments
from ..turn import Turns
from .server import Page


class MetricsPage:
    """Requests that come while the page is being made get the same page. `work` runs a function in a thread."""

    def __init__(
        self, instruments: Instruments, turns: Turns, work: Callable[[Callable[[], Page]], Awaitable[Page]]
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
        families = await self._instruments.take_snapshot(self._turns.begin())
        return await self._work(lambda: _render_page(families))


def _render_page(families: Iterable[FamilySnapshot]) -> Page:
    from ..metrics.prometheus_families import CONTENT_TYPE_LATEST, make_metric, read_process, render_text

    metrics = [*map(make_metric, families), *read_process()]
    return Page(body=render_text(metrics), content_type=CONTENT_TYPE_LATEST)
