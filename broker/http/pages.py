"""The pages: /metrics for Prometheus, /healthz (the process answers), /readyz (clients are served, some disk works).

A scrape of ten thousand partitions is a third of a second of work: the numbers are read family by family, with a turn
for others in between; a worker does the rest.
"""

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from .server import MakePage, Page

if TYPE_CHECKING:
    from ..core import Core


class _Snapshot(Collector):
    """What was read."""

    def __init__(self, families: list[Callable[[], Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return [make() for make in self._families]


def pages_of(core: "Core", is_ready: Callable[[], bool]) -> dict[str, MakePage]:
    """The pages of one broker, by path."""

    rendering: asyncio.Task[Page] | None = None

    async def render() -> Page:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Snapshot([family async for family in core.metrics.instruments.read(core.turns.begin())]))
        return Page(body=await core.heavy(generate_latest, registry), content_type=CONTENT_TYPE_LATEST)

    async def metrics() -> Page:
        """Made once for all who ask while it is being made."""
        nonlocal rendering
        if rendering is None or rendering.done():
            rendering = asyncio.create_task(render())
        return await asyncio.shield(rendering)

    async def alive() -> Page:
        return Page(body=b"alive\n")

    async def ready() -> Page:
        if not is_ready():
            return _unready("loading logs or shutting down")
        if core.log_manager.failing() >= set(core.log_manager.directories):
            return _unready("every log directory fails, see the log")
        return Page(body=b"ready\n")

    return {"/metrics": metrics, "/healthz": alive, "/readyz": ready}


def _unready(reason: str) -> Page:
    return Page(body=f"not ready: {reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
