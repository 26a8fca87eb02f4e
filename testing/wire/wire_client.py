"""The client for a test's own requests."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

from ...client.async_client import AsyncClient
from ...client.errors import raise_if_error
from ...client.operation import Operation, ask
from ...client.operations.topics import make_metadata_request
from ...client.security.settings import OPEN, SecuritySettings
from ...client.versions import ANY_VERSION
from ...config.keys.endpoints import parse_host_port
from ..loop_thread import run_in

T = TypeVar("T")
CLIENT_ID = "stepdown-testing"
NEWEST = ANY_VERSION[1]


class WireClient:
    """Sends requests to brokers. Its connections are in `loop`; its methods can be awaited in any loop."""

    def __init__(self, bootstrap: str, security: SecuritySettings = OPEN, *, loop: asyncio.AbstractEventLoop) -> None:
        addresses = [parse_host_port(each) for each in bootstrap.split(",")]
        self._loop = loop
        self._client = AsyncClient(addresses, client_id=CLIENT_ID, security=security)

    async def close(self) -> None:
        """Closes all connections."""
        await run_in(self._loop, self._client.__aexit__(None, None, None))

    async def run(self, operation: Operation[T]) -> T:
        """Runs an operation and returns its result. Raises: ClientError."""
        return await run_in(self._loop, self._client.run(operation))

    async def call(self, request: Any, most: int = NEWEST, *, node: int | None = None) -> Any:
        """Returns the response of `node`, or of any broker, in version `most` at most."""
        return await self.run(ask(request, node, within=(0, most)))

    async def leaders(self, topic: str) -> dict[int, int]:
        """Returns the leader of each partition. Raises: KafkaError."""
        (found,) = (await self.call(make_metadata_request([topic]))).topics
        raise_if_error(f"topic {topic}", found)
        return {
            each.partition_index: each.leader_id for each in sorted(found.partitions, key=lambda p: p.partition_index)
        }


def partitions_by_leader(leaders: Mapping[int, int]) -> dict[int, list[int]]:
    """Returns the partitions of each leader."""
    found: dict[int, list[int]] = {}
    for partition, node in leaders.items():
        found.setdefault(node, []).append(partition)
    return found
