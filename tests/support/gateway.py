"""A gateway in the test's process, before a stepdown broker that has lost what Kafka 4 removed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from stepdown.broker.broker import Broker
from stepdown.config import Given, Origin
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.settings import load_settings
from stepdown.network.clock import Clock

from .client import RawClient
from .kafka_4_front import Kafka4Front
from .running import running_broker


@dataclass(frozen=True, slots=True)
class Stage:
    """`front` is between the gateway and the broker."""

    gateway: Gateway
    front: Kafka4Front
    broker: Broker

    async def connect(self) -> RawClient:
        """A client of the gateway."""
        return await RawClient.connect("127.0.0.1", self.gateway.address.port)

    async def connect_to_broker(self) -> RawClient:
        """A client of the broker itself, which takes all versions."""
        return await RawClient.connect(self.broker.address.host, self.broker.address.port)


def gateway_to(upstream: str, clock: Clock | None = None, **settings: object) -> Gateway:
    """A gateway that is not started; settings by their names with `_` for `.`."""
    texts = {"listen": "127.0.0.1:0", "upstream_bootstrap_servers": upstream, **settings}
    given = [Given(name.replace("_", "."), str(text), Origin("the test")) for name, text in texts.items()]
    return Gateway(load_settings(None, {}, given), clock)


@asynccontextmanager
async def started(gateway: Gateway) -> AsyncIterator[Gateway]:
    fault = await gateway.start()
    try:
        assert not fault, fault
        yield gateway
    finally:
        await gateway.stop(drain_ms=0)


@asynccontextmanager
async def running_gateway(
    directory: Path, broker: dict[str, object] | None = None, **settings: object
) -> AsyncIterator[Stage]:
    """The three of them, `broker` having settings of the broker."""
    async with Kafka4Front() as front:
        advertised = {"advertised_listeners": f"PLAINTEXT://127.0.0.1:{front.port}"}
        async with running_broker(directory, **(advertised | (broker or {}))) as served:
            front.forward_to(served.address.port)
            async with started(gateway_to(f"127.0.0.1:{front.port}", **settings)) as gateway:
                yield Stage(gateway, front, served)
