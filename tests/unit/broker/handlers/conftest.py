"""A broker in the test's own process, and a client connected to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from support.client import RawClient
from support.clock import ManualClock
from support.record_sets import NOW
from support.running import running_broker


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path / "data", clock=ManualClock(NOW), log_retention_ms=-1) as running:
        yield running


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port) as connected:
        yield connected
