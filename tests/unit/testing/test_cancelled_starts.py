"""What a start that is cancelled at any moment leaves: nothing, as one that ends in order."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from stepdown.testing.running_brokers import RunningAsync
from stepdown.testing.scenarios.runner import run
from stepdown.testing.scenarios.scenario import load

PASSES = [0, *(2**power for power in range(13))]


async def scenario() -> None:
    await run(load("rebalance-storm"))


async def cluster_scenario() -> None:
    await run(load("all-replicas-in-sync"))


async def broker() -> None:
    async with RunningAsync(topics={f"t{number}": 4 for number in range(4)}):
        pass


async def cluster() -> None:
    async with RunningAsync(brokers=2, topics={f"t{number}": 4 for number in range(4)}):
        pass


async def cancel_after(passes: int, what: Callable[[], Awaitable[None]]) -> None:
    """Cancels it in that pass of the loop, counted from its start."""
    task = asyncio.ensure_future(what())
    for _ in range(passes):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("what", [scenario, cluster_scenario, broker, cluster])
def test_it_leaves_neither_files_nor_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: Callable[[], Awaitable[None]], passes: int
) -> None:
    """A thread went on making partitions of a broker that nobody had stopped while its folder was removed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(threading.enumerate())
    asyncio.run(cancel_after(passes, what))
    assert set(threading.enumerate()) <= before
    assert list(tmp_path.iterdir()) == []
