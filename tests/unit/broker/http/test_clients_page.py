"""The page /clients tells who is there to whoever may see the page for people; it may be written to a file."""

import asyncio
import json
from pathlib import Path
from typing import Any

from stepdown.broker.broker import Broker
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.clock import ManualClock
from support.running import running_broker, until


async def connect(broker: Broker) -> RawClient:
    return await RawClient.connect(broker.address.host, broker.address.port, client_id="me")


async def read_page(broker: Broker, host: str = "127.0.0.1") -> tuple[bytes, bytes]:
    """The status line and the body of /clients."""
    address = broker.http_address
    assert address is not None
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(f"GET /clients HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.splitlines()[0], body


async def test_a_client_is_told_of_with_what_it_asked(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await client.send(ApiVersionsRequest(client_software_name="lib", client_software_version="1.0"), 3)
        await client.send(MetadataRequest(topics=()), 4)
        status, body = await read_page(broker)
    (row,) = json.loads(body)["clients"]
    assert status.endswith(b"200 ")
    assert row["requests"] == {"Metadata": {"4": 1}, "ApiVersions": {"3": 1}}
    assert (row["address"], row["client_id"], row["software"], row["kafka_4"]["4.4"]) == (
        "127.0.0.1", "me", "lib", "unknown",
    )  # fmt: skip


async def test_a_page_in_a_browser_is_refused(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        status, body = await read_page(broker, host="evil.example")
    assert b"403" in status
    assert b"the host has to be 127.0.0.1, localhost or [::1]" in body


async def test_a_connection_that_only_asks_for_versions_is_no_client(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        await client.send(ApiVersionsRequest(), 0)
        assert broker.clients.document()["clients"] == []


async def test_the_report_is_written_to_a_file_every_minute_and_at_the_end(tmp_path: Path) -> None:
    clock, file = ManualClock(), tmp_path / "clients.json"
    async with running_broker(tmp_path / "data", clock=clock, stepdown_client_report_file=file) as broker:
        await clock.advance(60_000)
        await until(file.exists)
        assert read_rows(file) == []
        async with await connect(broker) as client:
            await client.send(MetadataRequest(topics=()), 4)
    assert [row["client_id"] for row in read_rows(file)] == ["me"]


def read_rows(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(file.read_text())["clients"]
    return rows
