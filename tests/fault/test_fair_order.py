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
from support.deadline import DEADLINE_S
from support.hostile import attacks
from support.running import running_broker

LARGE: dict[str, tuple[Callable[[], bytes], int]] = {
    "the broker named 20,000 times": (lambda: attacks.the_broker_named_again(20_000), 2),
    "90,000 names": (lambda: attacks.many_names(90_000), 10),
    "90,000 coordinators": (lambda: attacks.many_coordinators(90_000), 10),
    "90,000 committed offsets": (lambda: attacks.many_offsets_fetched(90_000), 10),
    "90,000 offsets": (lambda: attacks.many_offsets_listed(90_000), 10),
    "old messages of the wrong kind": (attacks.old_messages_of_the_wrong_kind, 10),
    "a session of 19,000 partitions": (lambda: attacks.fetch_with_a_session(19_000), 10),
}
"""Each request, and how many small ones are begun while it is at work, at least: none were without turns."""
PIPELINED = {
    "ApiVersions": (attacks.pipelined_api_versions, 2_000),
    "Metadata": (attacks.pipelined_metadata, 2_000),
    "Produce": (attacks.pipelined_produce, 1_000),
}
"""So many requests at once."""
MOST_IN_A_PASS = 100
"""Of one connection. Seconds end a turn as well, so on a slow machine they are fewer."""


class Answered(Interceptor):
    """Counts requests."""

    def __init__(self) -> None:
        self.count = 0

    async def before(self, call: Call) -> Any | None:
        self.count += 1
        return None


class During(Interceptor):
    """Counts the requests that are begun while the first one is at work."""

    def __init__(self) -> None:
        self.count = 0
        self._first: Call | None = None
        self._is_over = False

    @property
    def has_begun(self) -> bool:
        return self._first is not None

    async def before(self, call: Call) -> Any | None:
        if self._first is None:
            self._first = call
        elif not self._is_over:
            self.count += 1
        return None

    async def after(self, call: Call, response: Any | None) -> Any | None:
        self._is_over = self._is_over or call is self._first
        return response


async def ask_meanwhile(client: RawClient, meanwhile: "asyncio.Task[Any]", during: During) -> None:
    """Small requests, one after the other, from when the large one is at work until the task ends."""
    while not meanwhile.done():
        if during.has_begun:
            await client.send(ApiVersionsRequest(), 0)
        else:
            await asyncio.sleep(0)


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
            await small.send(ApiVersionsRequest(), 0)  # has its handler imported: a worker does that beside a busy loop
            during = During()
            broker.interceptors.append(during)
            await large.send_raw(attack())
            answering = asyncio.create_task(large.read_frame())
            await ask_meanwhile(small, answering, during)
            assert answering.result() is not None
    assert during.count >= least


@pytest.mark.parametrize(("attack", "requests"), PIPELINED.values(), ids=PIPELINED)
@pytest.mark.parametrize("clients", [1, 4])
async def test_a_pass_of_the_loop_answers_few_of_the_requests_of_a_connection(
    attack: Callable[[], bytes], requests: int, clients: int, tmp_path: Path
) -> None:
    async with running_broker(tmp_path) as broker:
        port = broker.address.port
        async with await RawClient.connect("127.0.0.1", port) as first:
            await create(first, attacks.TOPIC, 1)
        answered = Answered()
        broker.interceptors.append(answered)
        pipelining = [await RawClient.connect("127.0.0.1", port) for _ in range(clients)]
        reading = [asyncio.create_task(read(client, requests)) for client in pipelining]
        for client in pipelining:
            client._writer.write(attack())
        async with asyncio.timeout(DEADLINE_S):
            most = await most_in_a_pass(answered, clients * requests)
        await asyncio.gather(*reading)
        for client in pipelining:
            await client.close()
    assert most <= clients * MOST_IN_A_PASS


async def read(client: RawClient, answers: int) -> None:
    for _ in range(answers):
        assert await client.read_frame() is not None


async def most_in_a_pass(answered: Answered, requests: int) -> int:
    """The most requests that one pass of the loop answered, until all are."""
    most = before = 0
    while answered.count < requests:
        await asyncio.sleep(0)
        most, before = max(most, answered.count - before), answered.count
    return most
