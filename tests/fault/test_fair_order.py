"""While one client's large or pipelined requests are answered, those of others are answered in between.

All runs in one event loop, so that only the order of events counts: a slow or busy machine changes nothing of it.
bench/questions/times.py measures what others wait.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.dispatch.call import Call
from stepdown.broker.dispatch.interceptor import Interceptor
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from support.admin import create
from support.client import RawClient
from support.hostile import attacks
from support.running import running_broker

LARGE: dict[str, tuple[Callable[[], bytes], int]] = {
    "the broker named 20,000 times": (lambda: attacks.the_broker_named_again(20_000), 10),
    "30,000 names": (lambda: attacks.many_names(30_000), 10),
    "30,000 coordinators": (lambda: attacks.many_coordinators(30_000), 10),
    "30,000 committed offsets": (lambda: attacks.many_offsets_fetched(30_000), 10),
    "30,000 offsets": (lambda: attacks.many_offsets_listed(30_000), 10),
    "old messages of the wrong kind": (attacks.old_messages_of_the_wrong_kind, 10),
    "a session of 19,000 partitions": (lambda: attacks.fetch_with_a_session(19_000), 10),
}
"""Each request, and how many small ones are answered before it is, at least."""
PIPELINED = {
    "ApiVersions": (attacks.pipelined_api_versions, 2_000),
    "Metadata": (attacks.pipelined_metadata, 2_000),
    "Produce": (attacks.pipelined_produce, 1_000),
}
"""So many requests at once, of which a twentieth may be answered before a small one of another client."""


class OfOthers(Interceptor):
    """Counts the requests of all clients but `small`."""

    def __init__(self) -> None:
        self.count = 0

    async def before(self, call: Call) -> Any | None:
        self.count += call.header.client_id != "small"
        return None


async def count_answers(client: RawClient, meanwhile: "asyncio.Task[Any]") -> int:
    """How many small requests are answered, one after the other, before the task ends."""
    answers = 0
    while not meanwhile.done():
        await client.send(ApiVersionsRequest(), 0)
        answers += 1
    return answers


@pytest.mark.parametrize(("attack", "least"), LARGE.values(), ids=LARGE)
async def test_others_are_answered_before_a_large_request_is(
    attack: Callable[[], bytes], least: int, tmp_path: Path
) -> None:
    async with running_broker(tmp_path, num_partitions=50) as broker:
        port = broker.address.port
        async with (
            await RawClient.connect("127.0.0.1", port) as large,
            await RawClient.connect("127.0.0.1", port) as small,
        ):
            await create(small, attacks.TOPIC, 50)
            await large.send_raw(attack())
            answering = asyncio.create_task(large.read_frame())
            answers = await count_answers(small, answering)
            assert answering.result() is not None
    assert answers >= least


@pytest.mark.parametrize(("attack", "requests"), PIPELINED.values(), ids=PIPELINED)
@pytest.mark.parametrize("clients", [1, 4])
async def test_others_are_answered_between_pipelined_requests(
    attack: Callable[[], bytes], requests: int, clients: int, tmp_path: Path
) -> None:
    async with running_broker(tmp_path) as broker:
        port = broker.address.port
        async with await RawClient.connect("127.0.0.1", port, client_id="small") as small:
            await create(small, attacks.TOPIC, 1)
            pipelining = [await RawClient.connect("127.0.0.1", port) for _ in range(clients)]
            answered = OfOthers()
            broker.interceptors.append(answered)
            data = attack()
            for client in pipelining:
                client._writer.write(data)
            await small.send(ApiVersionsRequest(), 0)
            assert answered.count <= clients * requests // 20
            for client in pipelining:
                await client.close()
