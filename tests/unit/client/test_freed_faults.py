"""What a request that failed held is free: of a broker that is away, a gateway makes one after the other."""

import pytest
from stepdown.client.async_client import AsyncClient
from stepdown.client.errors import Unreachable
from stepdown.client.operation import ask
from stepdown.config import HostPort
from stepdown.protocol.messages.metadata import MetadataRequest
from support.cyclic_garbage import no_cycles_left


@pytest.mark.lengthy
async def test_of_a_broker_that_takes_no_connections() -> None:
    """The task that had connected and its fault held each other."""
    async with AsyncClient([HostPort("127.0.0.1", 1)], client_id="app") as client, no_cycles_left():
        for _ in range(2):
            with pytest.raises(Unreachable):
                await client.run(ask(MetadataRequest(topics=())))
