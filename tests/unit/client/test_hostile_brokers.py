"""Brokers that answer too much, something else, in another order, or not at all: each front ends with an error."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from stepdown.client.admin import Admin, AsyncAdmin
from stepdown.client.async_client import AsyncClient
from stepdown.client.async_connection import AsyncConnection
from stepdown.client.connection import MAX_BYTES_BEFORE_LOGIN
from stepdown.client.errors import MAX_SHOWN_CHARACTERS, ClientError, ConnectionBroken, KafkaError, MalformedAnswer
from stepdown.client.operation import ask
from stepdown.config import HostPort
from stepdown.network.turn import Turns
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_response
from stepdown.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from stepdown.protocol.messages.metadata import MetadataRequest
from support.deadline import MOMENT_S
from support.loop_calls import MOST_CALLS, Calls

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
METADATA_V0 = struct.pack(">ii", 0, 0)  # no brokers, no topics


@asynccontextmanager
async def answering(answer: Answering) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def next_id(reader: asyncio.StreamReader) -> int:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    frame = await reader.readexactly(size)
    return int(struct.unpack_from(">i", frame, 4)[0])


def framed(correlation_id: int, body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", ConnectionBroken),
        (struct.pack(">i", 0x7FFFFFFF) + bytes(100), MalformedAnswer),
        (struct.pack(">i", -1), MalformedAnswer),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", MalformedAnswer),
        (framed(1, struct.pack(">hi", 0, 0x7FFFFFFF)), MalformedAnswer),
        (framed(77, struct.pack(">hi", 0, 0)), MalformedAnswer),
        (struct.pack(">i", 2) + b"ab", MalformedAnswer),
    ],
    ids=["hangs up", "2 GiB", "negative", "HTTP", "array of 2 GiB", "of another request", "no header"],
)
async def test_what_is_no_answer_ends_the_call(data: bytes, fault: type[ClientError]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_id(reader)
        writer.write(data)
        await writer.drain()

    def block(address: str) -> None:
        with Admin(address) as admin, pytest.raises(fault):
            admin.describe_topics()

    async with answering(answer) as port:
        async with AsyncAdmin(f"127.0.0.1:{port}") as admin:
            with pytest.raises(fault):
                await admin.describe_topics()
        await asyncio.to_thread(block, f"127.0.0.1:{port}")


async def test_an_answer_to_a_login_has_a_bound_of_its_own() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await next_id(reader)
        writer.write(framed(1, struct.pack(">hihhh", 0, 1, ApiKey.SASL_HANDSHAKE, 0, 1)))
        await next_id(reader)
        writer.write(struct.pack(">i", MAX_BYTES_BEFORE_LOGIN + 1))
        await reader.read()

    def block(address: str) -> None:
        with Admin(address, config) as admin, pytest.raises(MalformedAnswer, match="the login"):
            admin.describe_topics()

    config = {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "u", "sasl.password": "p"}
    async with answering(answer) as port:
        async with AsyncAdmin(f"127.0.0.1:{port}", config) as admin:
            with pytest.raises(MalformedAnswer, match="the login"):
                await admin.describe_topics()
        await asyncio.to_thread(block, f"127.0.0.1:{port}")


async def test_answers_in_another_order_find_their_requests() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, second = await next_id(reader), await next_id(reader)
        writer.write(framed(second, b"second") + framed(first, b"first"))
        await writer.drain()
        await reader.read()

    async with answering(answer) as port:
        connection = AsyncConnection("me")
        await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", port)
        spec = API[ApiKey.METADATA]
        found = await asyncio.gather(*(connection.exchange_body(spec, 0, body) for body in (b"\0\0\0\0", b"\0\0\0\0")))
        assert [bytes(each) for each in found] == [b"first", b"second"]
        connection.close()


@pytest.mark.lengthy
async def test_a_long_answer_is_decoded_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer with 20,000 access rules held the loop for 30 ms, that of a gateway with all its clients."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(await next_id(reader), body))
        await reader.read()

    acl = AclDescription(principal="User:u", host="*", operation=3, permission_type=3)
    resources = [DescribeAclsResource(resource_type=2, resource_name="t", acls=[acl])] * 20_000
    spec, calls = API[ApiKey.DESCRIBE_ACLS], Calls(Turns())
    body = b"".join(map(bytes, encode_response(spec, 1, 1, DescribeAclsResponse(resources=resources))))[8:]  # type: ignore[arg-type]
    request = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    async with answering(answer) as port:
        connection = AsyncConnection("me")
        await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", port)
        with calls.counted(monkeypatch):
            found = await asyncio.create_task(connection.exchange(request, 1))
        connection.close()
    assert len(found.resources) == len(resources)
    assert calls.most <= MOST_CALLS


async def test_a_body_that_is_encoded_already_is_sent_as_the_same_bytes() -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = await reader.readexactly(size)
            seen.append(frame[:4] + frame[8:])
            writer.write(framed(struct.unpack_from(">i", frame, 4)[0], METADATA_V0))

    async with answering(answer) as port:
        connection = AsyncConnection("me")
        await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", port)
        await connection.exchange(MetadataRequest(topics=()), 0)
        await connection.exchange_body(API[ApiKey.METADATA], 0, b"\0\0\0\0")
        connection.close()
    assert seen[0] == seen[1]


async def test_what_is_in_flight_ends_when_the_broker_hangs_up() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(3):
            await next_id(reader)

    async with answering(answer) as port:
        connection = AsyncConnection("me")
        await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", port)
        asked = [connection.exchange(MetadataRequest(topics=()), 0) for _ in range(3)]
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(each, ConnectionError) for each in ended) and not connection.in_flight
        with pytest.raises(ConnectionError):
            await connection.exchange(MetadataRequest(topics=()), 0)


async def test_a_silent_broker_is_given_up_in_time() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with answering(answer) as port, AsyncAdmin(f"127.0.0.1:{port}", timeout_s=MOMENT_S) as admin:
        with pytest.raises(TimeoutError, match="did not answer ApiVersions in time"):
            await admin.describe_topics()


async def test_a_retired_connection_answers_what_is_in_flight_first() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        correlation_id = await next_id(reader)
        asked.set()
        await retired.wait()
        writer.write(framed(correlation_id, METADATA_V0))
        await reader.read()

    asked, retired = asyncio.Event(), asyncio.Event()
    async with answering(answer) as port:
        connection = AsyncConnection("me")
        await asyncio.get_running_loop().create_connection(lambda: connection, "127.0.0.1", port)
        asking = asyncio.create_task(connection.exchange(MetadataRequest(topics=()), 0))
        await asked.wait()
        connection.retire()
        assert not connection.closed
        retired.set()
        assert not (await asking).brokers
        assert connection.closed


def test_a_broker_s_text_forges_no_line_and_is_cut() -> None:
    fault = KafkaError("t", 17, "no\nWARN forged\x1b[2J" + "x" * 5000)
    assert "\n" not in str(fault) and "\x1b" not in str(fault) and len(str(fault)) < MAX_SHOWN_CHARACTERS + 100


async def test_a_client_that_is_closed_while_it_connects_says_so() -> None:
    """Who waited for the connection was cancelled: a gateway that got another login meanwhile never again asked for
    the brokers of its cluster."""
    connected = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await reader.read()

    async with answering(say_nothing) as port:
        client = AsyncClient([HostPort("127.0.0.1", port)], client_id="test")
        asking = asyncio.create_task(client.run(ask(MetadataRequest(topics=()), within=(1, 1))))
        await connected.wait()
        client.close()
        with pytest.raises(ClientError, match="was closed while it connected"):
            await asking
