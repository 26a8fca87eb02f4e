"""One connection of the producer, before a server of the test."""

import asyncio
import ssl
from pathlib import Path

from stepdown.client.tcp_connect import TcpConnect
from stepdown.producer.network.connection import Connection
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_response
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from support.certificates import Authority
from support.running import until


async def test_an_answer_in_two_tls_records_arrives_whole(tmp_path: Path) -> None:
    """What came with the second record was lost where both could be read at once, and the request went unanswered."""
    authority = Authority(tmp_path)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(authority.issue("broker"))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        served = tuple(ApiVersion(api_key=key, min_version=0, max_version=3) for key in range(20))
        answer = b"".join(encode_response(API[ApiKey.API_VERSIONS], 3, 1, ApiVersionsResponse(api_keys=served)))  # type: ignore[arg-type]
        for part in (answer[:50], answer[50:]):
            writer.write(part)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ours)
    async with server:
        connection = Connection("test", lambda: 0, lambda: None)
        port = server.sockets[0].getsockname()[1]
        theirs = ssl.create_default_context(cafile=authority.file)
        await TcpConnect()(lambda: connection, "127.0.0.1", port, tls=theirs)
        await until(lambda: connection.open)  # Python 3.12 tells of other changes before
        assert connection.versions == dict.fromkeys(range(20), (0, 3))
        connection.close()
