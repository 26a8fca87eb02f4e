"""A client that pipelines requests of HTTP, or sends a body in many pieces, held the event loop for three seconds; 64
connections that asked for nothing kept the probe of liveness out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from stepdown.network.http.server import (
    EVENTS_A_TURN,
    MOST_CONNECTIONS,
    MOST_HEAD_LINES,
    FallbackPages,
    HttpServer,
    Page,
    PageRequest,
)
from stepdown.network.turn import TURNS_A_PASS
from support.deadline import DEADLINE_S
from support.loop_passes import count_passes

REQUESTS = 400
PIECES = 4_000
KAFKA = bytes.fromhex("0000000a 0012 0000 00000001 0000")
"""A request for ApiVersions."""
HEAD = b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = bytes(32 << 20)
LAST = b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
IN_PIECES = b"POST /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


async def alive() -> Page:
    return Page(body=b"alive\n")


async def large() -> Page:
    return Page(body=LARGE)


class HoldingSite:
    """Answers nobody. `held`: how many wait for that."""

    def __init__(self) -> None:
        self.held = 0
        self.all_held = asyncio.Event()

    async def find_refusal(self, request: PageRequest) -> Page | None:
        self.held += 1
        if self.held == MOST_CONNECTIONS:
            self.all_held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.held -= 1
        return None

    async def answer(self, request: PageRequest) -> Page | None:
        return None


@asynccontextmanager
async def serving(fallback: FallbackPages | None = None) -> AsyncIterator[tuple[str, int]]:
    server = HttpServer({"/healthz": alive, "/large": large}, fallback=fallback)
    address = await server.start("127.0.0.1", 0)
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield address
    finally:
        await server.stop()


@pytest.mark.parametrize(
    ("sent", "least_passes"),
    [
        pytest.param(HEAD * REQUESTS + LAST, REQUESTS, id="requests without a body in one packet"),
        pytest.param(GET * REQUESTS + LAST, REQUESTS, id="requests in one packet"),
        pytest.param(
            IN_PIECES + b"1\r\na\r\n" * PIECES + b"0\r\n\r\n", PIECES // EVENTS_A_TURN, id="a body in many pieces"
        ),
    ],
)
async def test_others_have_the_loop_between_the_parts_of_what_one_client_sends(sent: bytes, least_passes: int) -> None:
    async with serving() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        passes, answers = await count_passes(reader.read(-1))
        writer.close()
    assert answers.startswith(b"HTTP/1.1 ")
    assert passes >= least_passes


@pytest.mark.lengthy
async def test_a_pass_of_the_loop_answers_few_of_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 connections with requests of 2,000 headers each, which take 13 ms, held the loop for a second in a pass."""
    answered = 0
    page_for = HttpServer._make_page_for

    async def count(*arguments: Any) -> Page:
        nonlocal answered
        answered += 1
        return await page_for(*arguments)

    monkeypatch.setattr(HttpServer, "_make_page_for", count)
    asking = GET.replace(b"\r\n\r\n", b"\r\n" + b"a:\r\n" * (MOST_HEAD_LINES // 2) + b"\r\n")
    most = before = 0
    async with serving() as address:
        connections = [await asyncio.open_connection(*address) for _ in range(MOST_CONNECTIONS)]
        for _, writer in connections:
            writer.write(asking * 20 + LAST)
        reading = [asyncio.ensure_future(reader.read(-1)) for reader, _ in connections]
        while not all(each.done() for each in reading):
            await asyncio.sleep(0)
            most, before = max(most, answered - before), answered
        assert answered == MOST_CONNECTIONS * 21
        for _, writer in connections:
            writer.close()
    assert most <= TURNS_A_PASS


async def test_a_request_of_too_many_headers_is_not_read() -> None:
    async with serving() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(GET.replace(b"\r\n\r\n", b"\r\n" + b"a:\r\n" * 2 * MOST_HEAD_LINES + b"\r\n"))
        assert (await reader.read(-1)).startswith(b"HTTP/1.1 431 ")
        writer.close()


@pytest.mark.parametrize("sent", [KAFKA, b"GET\r\n\r\n", HEAD.replace(b"Host", b"Host: x\r\nHost")])
async def test_what_is_no_request_is_told_so(sent: bytes) -> None:
    """A client of Kafka at the wrong port saw a closed connection, and asked whether TLS was wanted."""
    async with serving() as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        assert (await reader.read(-1)).startswith(b"HTTP/1.1 400 ")
        writer.close()


async def test_connections_that_ask_for_nothing_give_way_to_one_that_asks() -> None:
    async with serving() as address:
        silent = [await asyncio.open_connection(*address) for _ in range(MOST_CONNECTIONS)]
        reader, writer = await asyncio.open_connection(*address)
        writer.write(LAST.replace(b"HEAD", b"GET"))
        assert b"alive" in await reader.read(-1)
        assert await silent[0][0].read(-1) == b""
        for _, other in (*silent, (reader, writer)):
            other.close()


async def test_connections_that_do_not_read_their_answers_give_way_to_one_that_asks() -> None:
    async with serving() as address:
        stalled = [await asyncio.open_connection(*address, limit=1) for _ in range(MOST_CONNECTIONS)]
        for _, writer in stalled:
            writer.write(GET.replace(b"/healthz", b"/large"))
        for reader, _ in stalled:
            await reader.read(1)  # the answer has begun
        reader, writer = await asyncio.open_connection(*address)
        writer.write(LAST.replace(b"HEAD", b"GET"))
        assert b"alive" in await reader.read(-1)
        for _, other in (*stalled, (reader, writer)):
            other.transport.abort()


async def test_answers_that_are_held_back_give_way_to_one_that_asks() -> None:
    """Who tries passwords by 64 connections, whose answers are held back, would keep the probe of liveness out."""
    site = HoldingSite()
    async with serving(site) as address:
        trying = [await asyncio.open_connection(*address) for _ in range(MOST_CONNECTIONS)]
        for _, writer in trying:
            writer.write(GET.replace(b"/healthz", b"/"))
        await site.all_held.wait()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(LAST.replace(b"HEAD", b"GET"))
        assert b"alive" in await reader.read(-1)
        assert site.held == MOST_CONNECTIONS - 1
        for _, other in (*trying, (reader, writer)):
            other.transport.abort()
