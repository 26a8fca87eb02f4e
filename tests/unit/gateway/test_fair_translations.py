"""A request, or an answer, of thousands of items held all other connections for up to 0.7 s.

Each API that is translated, and each whose requests are split where all brokers have one address, is asked for many
items. Its steps are counted in calls, not in seconds, as those of the handlers of a broker.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from stepdown.client.operation import Coordinator
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.offered_versions import LOWERED, TRANSLATED
from stepdown.gateway.routes import ANY, ROUTES, newest_version
from stepdown.gateway.translations import TRANSLATIONS
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.frame import decode_response, encode_request
from support.echoing_cluster import EchoingCluster, ask_by_socket, request_of
from support.gateway import gateway_to, started
from support.hostile.generated import depth_of
from support.loop_calls import Calls

ITEMS = 4_000
BROKERS = 3
MOST_CALLS = 10_000
"""2 ms. A turn is 2,500 of them; 500 items are read, or written, in one go."""
SPLIT = [key for key, route in ROUTES.items() if route is not ANY]


@asynccontextmanager
async def staged(brokers: int, addresses: str) -> AsyncIterator[tuple[EchoingCluster, Gateway]]:
    with EchoingCluster(brokers) as cluster:
        async with started(gateway_to(cluster.bootstrap, addresses=addresses)) as gateway:
            if gateway._acl_warning is not None:
                await gateway._acl_warning  # which makes what reads its messages
            yield cluster, gateway


async def most_calls(
    key: int,
    version: int,
    depth: int,
    cluster: EchoingCluster,
    gateway: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    items: int = ITEMS,
) -> int:
    """Of one step of the loop, while a request with many items at that depth of its arrays is answered."""
    spec = API[ApiKey(key)]
    calls = Calls(gateway._turns)
    cluster.depth = depth
    for cluster.items in (1, items):  # what reads and writes messages is made with the first
        request = request_of(key, version, cluster.items, min(depth, depth_of(spec.request, version) - 1))
        frame = b"".join(map(bytes, encode_request(spec, version, 7, "test", request)))  # type: ignore[arg-type]
        with calls.counted(monkeypatch):
            answer = await asyncio.to_thread(ask_by_socket, gateway.address.port, frame)
        assert answer, "the gateway hung up"
        assert decode_response(spec, version, memoryview(answer))[0] == 7
    return calls.most


def depths_of(key: int, version: int) -> Sequence[int]:
    spec = API[ApiKey(key)]
    return range(max(1, depth_of(spec.request, version), depth_of(spec.response, version)))


@pytest.mark.parametrize("key", TRANSLATIONS, ids=lambda key: ApiKey(key).name)
async def test_no_step_of_a_translation_holds_the_loop(key: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged(1, "ports") as (cluster, gateway):
        for version in {0, TRANSLATED[key].last}:
            for depth in depths_of(key, version):
                for cluster.error in (0, ErrorCode.KAFKA_STORAGE_ERROR)[-1 if version else 0 :]:
                    most = await most_calls(key, version, depth, cluster, gateway, monkeypatch)
                    assert most <= MOST_CALLS, (version, depth, cluster.error)


@pytest.mark.parametrize("key", [ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH], ids=lambda key: key.name)
async def test_no_step_holds_the_loop_where_another_broker_coordinates(
    key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(1, "ports") as (cluster, gateway):
        cluster.error = ErrorCode.NOT_COORDINATOR
        for depth in depths_of(key, 0):
            assert await most_calls(key, 0, depth, cluster, gateway, monkeypatch) <= MOST_CALLS


@pytest.mark.parametrize("key", SPLIT, ids=lambda key: ApiKey(key).name)
async def test_no_step_of_a_split_request_holds_the_loop(key: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged(BROKERS, "single") as (cluster, gateway):
        version = min(newest_version(key), LOWERED.get(key, 99), cluster.taken[key][-1])
        locator = gateway._tools.locator
        assert locator is not None
        for number in range(ITEMS):
            for kind in range(2):
                name = Coordinator(f"n{number}", kind)
                locator._coordinators.put((name.name, str(kind)), number % BROKERS)
        depth = depths_of(key, version)[-1]
        assert await most_calls(key, version, depth, cluster, gateway, monkeypatch) <= MOST_CALLS


async def test_no_step_of_a_rewritten_answer_holds_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """FindCoordinator for 2,600 groups of one letter, whose answer has less than 64 KiB, held it for 20 to 30 ms."""
    async with staged(1, "ports") as (cluster, gateway):
        for items in (140, 2_000):
            most = await most_calls(ApiKey.FIND_COORDINATOR, 4, 0, cluster, gateway, monkeypatch, items)
            assert most <= MOST_CALLS, items
