"""PROXY headers of balancers: whose connection it is, and what is no header."""

import asyncio
import random
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stepdown.gateway.proxy_header import SIGNATURE, ProxyAddress, parse_v1, parse_v2, size_of_v2_rest
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.gateway import Stage, running_gateway

V1 = b"PROXY TCP4 192.0.2.7 192.0.2.2 56324 443\r\n"
V1_OF_6 = b"PROXY TCP6 2001:db8::7 2001:db8::1 56324 443\r\n"


def v2(command: int = 0x21, family: int = 0x11, rest: bytes | None = None, more: bytes = b"") -> bytes:
    addresses = bytes((192, 0, 2, 7, 192, 0, 2, 2)) + struct.pack(">HH", 56324, 443)
    rest = (addresses if rest is None else rest) + more
    return SIGNATURE + bytes((command, family)) + struct.pack(">H", len(rest)) + rest


V2_OF_6 = v2(family=0x21, rest=bytes.fromhex("20010db8" + "0" * 22 + "07") * 2 + struct.pack(">HH", 56324, 443))


def parse(header: bytes) -> ProxyAddress | None:
    if not header.startswith(SIGNATURE):
        return parse_v1(header)
    assert size_of_v2_rest(header[:16]) == len(header) - 16
    return parse_v2(header[:16], header[16:])


@pytest.mark.parametrize(
    ("header", "host"),
    [
        pytest.param(V1, "192.0.2.7", id="v1"),
        pytest.param(V1_OF_6, "2001:db8::7", id="v1-ipv6"),
        pytest.param(v2(), "192.0.2.7", id="v2"),
        pytest.param(v2(more=b"\x04\x00\x01x" * 100), "192.0.2.7", id="v2-more"),
        pytest.param(V2_OF_6, "2001:db8::7", id="v2-ipv6"),
    ],
)
def test_a_header_names_whose_connection_it_is(header: bytes, host: str) -> None:
    assert parse(header) == ProxyAddress(host, 56324)


@pytest.mark.parametrize("header", [b"PROXY UNKNOWN\r\n", b"PROXY UNKNOWN a b 1 2\r\n", v2(0x20), v2(0x20, 0, b"")])
def test_a_connection_may_be_the_balancers_own(header: bytes) -> None:
    assert parse(header) is None


BAD = [
    *(b"PROXY TCP4 192.0.2.7\r\n", b"PROXY TCP4 x 192.0.2.2 1 2\r\n", b"PROXY TCP4 192.0.2.7 192.0.2.2 99999 2\r\n"),
    *(b"PROXY TCP9 192.0.2.7 192.0.2.2 1 2\r\n", b"PROXY TCP4 2001:db8::7 ::1 1 2\r\n", b"PROXY\r\n", V1[:-2] + b"\n"),
    *(b"PROXY TCP4 " + b"1" * 200 + b"\r\n", b"POST / HTTP/1.1\r\n\r\n", b"PROXY TCP4 \xff\xfe 192.0.2.2 1 2\r\n"),
    *(v2(0x31), v2(family=0x31), v2(rest=b"short"), SIGNATURE + b"\x21\x11\xff\xff" + b"x" * 100),
    SIGNATURE[:11] + b"X!\x11\0\x0c" + b"x" * 12,
]


@asynccontextmanager
async def proxied(tmp_path: Path, header: bytes, **settings: object) -> AsyncIterator[tuple[Stage, RawClient]]:
    async with (
        running_gateway(tmp_path, **({"proxy_protocol": "required"} | settings)) as stage,
        await stage.connect() as client,
    ):
        await client.send_raw(header)
        yield stage, client


@pytest.mark.parametrize("header", [V1, v2()], ids=["v1", "v2"])
async def test_the_client_report_has_the_address_of_the_header(tmp_path: Path, header: bytes) -> None:
    async with proxied(tmp_path, header) as (stage, client):
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers
        assert [each["address"] for each in stage.gateway.clients.document()["clients"]] == ["192.0.2.7"]


async def test_a_header_may_come_byte_by_byte(tmp_path: Path) -> None:
    async with proxied(tmp_path, b"") as (_, client):
        for byte in V1:
            await client.send_raw(bytes((byte,)))
            await asyncio.sleep(0)
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers


@pytest.mark.parametrize("header", BAD)
async def test_a_bad_header_ends_the_connection_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, header: bytes
) -> None:
    async with proxied(tmp_path, header) as (_, client):
        client.end()
        assert await client.read_frame() is None
    assert "PROXY header" in caplog.text


async def test_a_connection_without_a_header_is_closed_only_where_one_is_required(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxied(tmp_path, b"", proxy_protocol="optional") as (_, client):
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers
    async with proxied(tmp_path, b"") as (_, client):
        await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
        assert await client.read_frame() is None
    assert "it has no PROXY header; see proxy.protocol in the settings" in caplog.text


async def test_the_allow_list_is_asked_about_the_address_of_the_header(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with proxied(tmp_path, V1, allow="192.0.2.0/24") as (_, client):
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers
    async with proxied(tmp_path, V1, allow="127.0.0.0/8") as (_, client):
        await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
        assert await client.read_frame() is None
    assert "192.0.2.7: it is in no network that is allowed" in caplog.text


def test_no_bytes_are_anything_but_an_address_or_a_fault() -> None:
    dice = random.Random(51)
    for _ in range(3000):
        header = bytearray(dice.choice((V1, V1_OF_6, v2(), V2_OF_6)))
        for _ in range(dice.randint(1, 4)):
            header[dice.randrange(len(header))] = dice.randrange(256)
        try:
            if header.startswith(SIGNATURE):
                size_of_v2_rest(bytes(header[:16]))
                parse_v2(bytes(header[:16]), bytes(header[16:]))
            else:
                parse_v1(bytes(header))
        except MalformedFrame:
            pass
