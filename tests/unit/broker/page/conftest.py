"""A broker with a topic of three partitions."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from support.admin import create
from support.client import RawClient
from support.page_content import MARKUP
from support.running import running_broker

SETTINGS = {
    "group_initial_rebalance_delay_ms": 0,
    "offsets_topic_num_partitions": 1,
    "transaction_state_log_num_partitions": 1,
}


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with running_broker(tmp_path, **SETTINGS) as started:
        yield started


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port, client_id=MARKUP) as connected:
        await create(connected, "orders", 3)
        yield connected
