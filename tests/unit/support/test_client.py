import asyncio
from contextlib import asynccontextmanager

import pytest
from stepdown.protocol.api import API
from stepdown.protocol.frame import FrameParser, decode_request_header, encode_response
from stepdown.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.client import RawClient


@asynccontextmanager
async def broker(answer):
    """A server that passes each frame to `answer`, sends what it returns, and hangs up on None."""

    async def serve(reader, writer):
        parser = FrameParser(1000)
        while data := await reader.read(1000):
            parser.feed(data)
            while (frame := parser.next_frame()) is not None:
                response = answer(frame)
                if response is None:
                    writer.close()
                    return
                writer.write(response)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def accept(frame):
    header, _ = decode_request_header(frame)
    response = HeartbeatResponse(error_code=len(header.client_id))
    return b"".join(encode_response(API[12], header.api_version, header.correlation_id, response))


@pytest.mark.parametrize("version", [0, 4])
async def test_a_response_comes_back_as_a_value(version):
    async with broker(accept) as port, await RawClient.connect("127.0.0.1", port, client_id="four") as client:
        assert (await client.send(HeartbeatRequest(group_id="g"), version)).error_code == 4


async def test_requests_may_be_pipelined():
    async with broker(accept) as port, await RawClient.connect("127.0.0.1", port) as client:
        request = HeartbeatRequest(group_id="g")
        begun = [await client.begin(request, 4) for _ in range(3)]
        assert [(await client.finish(request, 4, number)).error_code for number in begun] == [3, 3, 3]


async def test_a_broker_that_hangs_up_is_no_response():
    async with broker(lambda frame: None) as port, await RawClient.connect("127.0.0.1", port) as client:
        await client.send_raw(b"\0\0\0\0")
        assert await client.read_frame() is None
        with pytest.raises(ConnectionError):
            await client.send(HeartbeatRequest(), 0)
